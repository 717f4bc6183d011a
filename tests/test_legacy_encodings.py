"""Files in encodings that they do not declare: read right, changed in the same encoding, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.text import NotEncodableError, decode, encode_changed
from tests.support.reports import reported

JAPANESE = "// 日本語のコメントです。設定ファイルを読み込む\r\nint main() { return 0; }\r\n"
CHINESE = "// 中文注释：读取配置文件并返回结果\nint main() { return 0; }\n"
TRADITIONAL = "// 繁體中文註解：讀取設定檔\nint main() { return 0; }\n"
KOREAN = "// 한국어 주석입니다. 설정 파일을 읽습니다\nint main() { return 0; }\n"
RUSSIAN = "// Русский комментарий: читать файл настроек\nint main() { return 0; }\n"
PORTUGUESE = "// configuração não é possível\nint main() { return 0; }\n"

FILES: list[Any] = [
    reported("anthropics/claude-code#62723", "shift_jis", JAPANESE, "追加した行"),
    reported("Kilo-Org/kilocode#1439", "gbk", CHINESE, "新增的行"),
    reported("anthropics/claude-code#56946", "gb2312", CHINESE, "x"),
    reported("anomalyco/opencode#49881", "big5", TRADITIONAL, "新增"),
    reported("anomalyco/opencode#28521", "cp1252", PORTUGUESE, "ação"),
    reported("anthropics/claude-code#85842", "latin-1", PORTUGUESE, "x"),
    ("euc_jp", JAPANESE, "追加"),
    ("euc_kr", KOREAN, "추가"),
    ("cp1251", RUSSIAN, "новая"),
    ("koi8_r", RUSSIAN, "новая"),
    ("cp866", RUSSIAN, "новая"),
]


@pytest.mark.parametrize(("encoding", "text", "added"), FILES)
def test_a_file_in_an_old_encoding_is_read_and_changed_in_it(encoding: str, text: str, added: str) -> None:
    read = decode(text.encode(encoding))
    assert (read.text, read.is_guessed) == (text, True)
    changed = text.replace("return 0", f"return 1 /* {added} */")
    assert encode_changed(read, changed) == changed.encode(encoding)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("日本語テキスト".encode() * 3 + b"\xff", id="damaged"),
        pytest.param("中文注释读取".encode()[:-1], id="cut"),
        pytest.param(JAPANESE.encode("utf-8"), id="valid"),
    ],
)
def test_utf_8_stays_utf_8(data: bytes) -> None:
    assert (decode(data).encoding, decode(data).is_guessed) == ("utf-8", False)


def test_a_file_in_an_unknown_encoding_takes_only_ascii() -> None:
    data = b"\xed\xa0\x80\xed\xa0\x81 x = 1\n"
    read = decode(data)
    assert read.encoding == "utf-8" and not read.is_valid
    assert encode_changed(read, read.text.replace("x = 1", "x = 2")) == data.replace(b"x = 1", b"x = 2")
    with pytest.raises(NotEncodableError):
        encode_changed(read, read.text.replace("x = 1", "x = 'é'"))
