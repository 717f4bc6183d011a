"""Build a release: wheel, sdist, VS Code extension, Neovim plugin, list of components, notes and checksums.

    release.py VERSION [--dry-run] [--only wheel,sdist,plugin,notes,manifest] [--out FOLDER]

Everything is built from a copy of the tracked files with the version stamped into it, so that a dry run changes
nothing in the working tree. The same sources give the same bytes: the time of every file is SOURCE_DATE_EPOCH, which
is the time of the last commit if it is not set. With REPOSITORY_URL the packages get that URL, and the links of
their README point to it. Without it these links are plain text.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "release"
PLUGIN_PARTS = ("doc", "lua", "plugin")
STAMPED = (
    "agent_ls/_version.py",
    "vscode-extension/package.json",
    "editors/acp-registry/agent.json",
    "docs/changelog.md",
)
PARTS = ("sdist", "wheel", "plugin", "vsix", "sbom", "notes", "manifest")

_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)((?:a|b|rc)\d+)?")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")


class ReleaseError(Exception):
    """The release cannot be built; the message says what to do."""


# --- version stamps --------------------------------------------------------------------------------------------------


def stamp_version(text: str, version: str) -> str:
    """Return the text of a file with its version replaced. The version is a Python assignment or a JSON field."""
    new, count = re.subn(
        r'^(__version__ = |\s*"version": )"[^"]*"', rf'\g<1>"{version}"', text, count=1, flags=re.MULTILINE
    )
    if not count:
        raise ReleaseError("a file that should have a version has none")
    return re.sub(r'"agent-ls==[^"]*"', f'"agent-ls=={version}"', new)


def date_changelog(text: str, version: str, day: str) -> str:
    """Return the changelog with the heading of the unreleased version dated.

    Raises:
        ReleaseError: the first section belongs to another version.
    """
    first = re.search(r"^## (\S+)(?: \((.*)\))?$", text, re.MULTILINE)
    if first is None or first[1] != version:
        found = first[1] if first else "none"
        raise ReleaseError(
            f"the first section of docs/changelog.md is {found}: begin one: '## {version} (unreleased)'"
        )
    return text if first[2] != "unreleased" else text.replace(first[0], f"## {version} ({day})", 1)


def release_notes(changelog: str, version: str) -> str:
    """Return the section of a version, without its heading."""
    found = re.search(rf"^## {re.escape(version)} .*?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise ReleaseError(f"docs/changelog.md says nothing about {version}")
    return found[1].strip() + "\n"


def absolute_links(text: str, repository: str, version: str) -> str:
    """Return Markdown whose relative links lead to the tagged files of the repository; "": plain text, no pictures."""

    def link(found: re.Match[str]) -> str:
        is_image, words, target = found.groups()
        if not repository:
            return "" if is_image else words
        kind = "raw" if is_image else "blob"
        return f"{is_image}[{words}]({repository.rstrip('/')}/{kind}/v{version}/{target})"

    return _LINK.sub(link, text)


def add_urls(pyproject: str, repository: str) -> str:
    """Return pyproject.toml with the project URLs, which are derived from the repository's."""
    base = repository.rstrip("/")
    urls = {
        "Repository": base,
        "Documentation": f"{base}/tree/main/docs",
        "Changelog": f"{base}/blob/main/docs/changelog.md",
        "Issues": f"{base}/issues",
    }
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    return f"{pyproject}\n[project.urls]\n{lines}"


# --- the copy from which everything is built --------------------------------------------------------------------------


def tracked_files() -> list[str]:
    """Return the files of the repository, relative to it, as they are in the working tree."""
    listed = _run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT)
    return sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file())


def built_files() -> list[str]:
    """Return the files of the panel's page. They are not tracked; `make release` builds them first."""
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "agent_ls/panel/page").glob("*"))


def stage(target: Path, version: str, epoch: int, repository: str) -> None:
    """Copy the tracked files to `target`, stamped with the version, with fixed times and modes."""
    shutil.rmtree(target, ignore_errors=True)
    for name in (*tracked_files(), *built_files()):
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, place)
        place.chmod(0o755 if os.access(ROOT / name, os.X_OK) else 0o644)
    stamp_tree(target, version, epoch)
    project = target / "pyproject.toml"
    text = project.read_text("utf-8").replace('readme = "README.md"', 'readme = "README.package.md"')
    project.write_text(add_urls(text, repository) if repository else text, "utf-8")
    readme = absolute_links((target / "README.md").read_text("utf-8"), repository, version)
    (target / "README.package.md").write_text(readme, "utf-8")
    if repository:
        add_fields(target / "vscode-extension/package.json", repository={"type": "git", "url": repository})
        website = f"{repository.rstrip('/')}/blob/v{version}/docs/acp.md"
        add_fields(target / "editors/acp-registry/agent.json", repository=repository, website=website)
    for path in target.rglob("*"):
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def add_fields(manifest: Path, **fields: object) -> None:
    content = json.loads(manifest.read_text("utf-8")) | fields
    manifest.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


def stamp_tree(folder: Path, version: str, epoch: int) -> None:
    day = datetime.fromtimestamp(epoch, UTC).date().isoformat()
    for name in STAMPED:
        file = folder / name
        text = file.read_text("utf-8")
        stamped = date_changelog(text, version, day) if name.endswith(".md") else stamp_version(text, version)
        file.write_text(stamped, "utf-8")


# --- reproducible archives --------------------------------------------------------------------------------------------


def write_tar(target: Path, members: Iterable[tuple[str, bytes, bool]], epoch: int) -> None:
    """Write a .tar.gz of (name, content, is executable) without times and owners of this machine."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content, is_program in sorted(members):
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(content), epoch, 0o755 if is_program else 0o644
            tar.addfile(info, io.BytesIO(content))
    with target.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed:
        packed.write(plain.getvalue())


def repack_tar(file: Path, epoch: int) -> None:
    with tarfile.open(file) as tar:
        members = [
            (info.name, tar.extractfile(info).read(), bool(info.mode & 0o100))  # type: ignore[union-attr]
            for info in tar
            if info.isfile()
        ]
    write_tar(file, members, epoch)


def repack_zip(file: Path, epoch: int) -> None:
    """Write a zip file again with sorted members and equal times."""
    with zipfile.ZipFile(file) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist() if not info.is_dir()]
    moment = datetime.fromtimestamp(max(epoch, 315_532_800), UTC).timetuple()[:6]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for old, content in sorted(members, key=lambda member: member[0].filename):
            info = zipfile.ZipInfo(old.filename, moment)
            info.external_attr, info.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, content)


# --- the parts --------------------------------------------------------------------------------------------------------


class Release:
    """A release that is being built. `python` has the packages of requirements/release.lock."""

    def __init__(self, version: str, epoch: int, out: Path, repository: str, python: str) -> None:
        self.version, self.epoch, self.out, self.repository, self.python = (
            version,
            epoch,
            out,
            repository,
            python,
        )
        self.source = WORK / "source" / f"agent-ls-{version}"

    def build(self, parts: Iterable[str]) -> list[Path]:
        """Build the parts into `out` and return its files."""
        stage(self.source, self.version, self.epoch, self.repository)
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        for part in parts:
            print(f"agent-ls: building {part}", flush=True)
            getattr(self, f"_{part}")()
        files = sorted(path for path in self.out.iterdir() if path.is_file())
        sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
        (self.out / "SHA256SUMS").write_text(sums, "utf-8")
        return [*files, self.out / "SHA256SUMS"]

    def _environ(self) -> dict[str, str]:
        return {**os.environ, "SOURCE_DATE_EPOCH": str(self.epoch), "PYTHONDONTWRITEBYTECODE": "1"}

    def _sdist(self) -> None:
        _run([self.python, "-m", "build", "--no-isolation", "--sdist", "--outdir", str(self.out)], self.source,
             self._environ())  # fmt: skip
        repack_tar(self._one("*.tar.gz"), self.epoch)

    def _wheel(self) -> None:
        """Build the wheel from the sdist if there is one, so that it lacks the same files as the sdist."""
        source = self.source
        if list(self.out.glob("agent_ls-*.tar.gz")):
            unpacked = WORK / "unpacked"
            shutil.rmtree(unpacked, ignore_errors=True)
            shutil.unpack_archive(self._one("agent_ls-*.tar.gz"), unpacked, filter="data")
            (source,) = unpacked.iterdir()
        _run([self.python, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(self.out)], source,
             self._environ())  # fmt: skip
        check_wheel_times(self._one("*.whl"), self.epoch)

    def _plugin(self) -> None:
        folder = self.source / "editors" / "nvim"
        files = [file for part in PLUGIN_PARTS for file in (folder / part).rglob("*") if file.is_file()]
        name = f"agent-ls.nvim-{self.version}"
        members = [
            (f"{name}/{file.relative_to(folder).as_posix()}", file.read_bytes(), False) for file in files
        ]
        members.append((f"{name}/LICENSE", (self.source / "LICENSE").read_bytes(), False))
        write_tar(self.out / f"{name}.tar.gz", members, self.epoch)

    def _vsix(self) -> None:
        """Pack the extension as `make vsix` does, with the tools of this checkout."""
        for name in (".venv-test", ".tools", "vscode-extension/node_modules"):
            if not (ROOT / name / ".ready").exists() and name != ".tools":
                raise ReleaseError(f"{name} is missing: run `make vsix` once")
            link = self.source / name
            if not link.is_symlink():
                link.symlink_to(ROOT / name)
        shutil.copy(self.source / "LICENSE", self.source / "vscode-extension" / "LICENSE")
        _run([".ci/vsix"], self.source, self._environ())
        target = self.out / f"agent-ls-{self.version}.vsix"
        shutil.copyfile(self.source / "build" / target.name, target)
        repack_zip(target, self.epoch)

    def _sbom(self) -> None:
        """List the packages that the product is tested with, in CycloneDX format."""
        program = Path(self.python).with_name("cyclonedx-py")
        target = self.out / f"agent-ls-{self.version}.cdx.json"
        _run([str(program), "requirements", "--output-reproducible", "--of", "JSON", "-o", str(target),
              "requirements/product.lock"], self.source, self._environ())  # fmt: skip

    def _notes(self) -> None:
        changelog = (self.source / "docs" / "changelog.md").read_text("utf-8")
        notes = absolute_links(release_notes(changelog, self.version), self.repository, self.version)
        (self.out / "NOTES.md").write_text(notes, "utf-8")

    def _manifest(self) -> None:
        """Write the folder that is submitted to the ACP registry of agents."""
        target = self.out / "acp-registry" / "agent-ls"
        shutil.copytree(self.source / "editors" / "acp-registry", target, dirs_exist_ok=True)

    def check(self) -> None:
        """Check the packages as PyPI does on upload."""
        packages = [
            str(path) for pattern in ("*.whl", "agent_ls-*.tar.gz") for path in self.out.glob(pattern)
        ]
        if packages:
            _run([self.python, "-m", "twine", "check", "--strict", *packages], ROOT)

    def _one(self, pattern: str) -> Path:
        (found,) = self.out.glob(pattern)
        return found


def check_wheel_times(file: Path, epoch: int) -> None:
    """Check that the wheel has the times of SOURCE_DATE_EPOCH, because only the build backend can set them."""
    moment = datetime.fromtimestamp(max(epoch, 315_532_800), UTC).timetuple()[:5]
    with zipfile.ZipFile(file) as archive:
        if any(info.date_time[:5] != moment for info in archive.infolist()):
            raise ReleaseError("the wheel has times of this machine: is setuptools that of the lock file?")


def check_tree(version: str) -> None:
    """
    Raises:
        ReleaseError: there are uncommitted changes, or the version exists.
    """
    if changed := _run(["git", "status", "--porcelain"], ROOT).strip():
        raise ReleaseError(f"commit or stash these first:\n{changed}")
    if _run(["git", "tag", "--list", f"v{version}"], ROOT).strip():
        raise ReleaseError(f"the tag v{version} exists: choose a new version")


def current_version() -> str:
    text = (ROOT / "agent_ls" / "_version.py").read_text("utf-8")
    found = re.search(r'__version__ = "([^"]+)"', text)
    assert found, "agent_ls/_version.py has a version"
    return found[1]


def source_epoch() -> int:
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _run(["git", "log", "-1", "--format=%ct"], ROOT).strip()
    return int(epoch)


def _run(command: list[str], folder: Path, environ: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()[-20:]
        raise ReleaseError(f"{' '.join(command[:4])} failed:\n" + "\n".join(lines))
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description="Build a release into build/release/dist.")
    parser.add_argument("version", nargs="?", default="")
    parser.add_argument("--dry-run", action="store_true", help="change nothing in the working tree")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=WORK / "dist")
    options = parser.parse_args()
    version = options.version or (current_version() if options.dry_run else "")
    parts = options.only.split(",")
    try:
        if not _SEMVER.fullmatch(version):
            raise ReleaseError(f"give a version such as 1.2.3: make release VERSION=1.2.3 (got {version!r})")
        if unknown := set(parts) - set(PARTS):
            raise ReleaseError(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
        if not options.dry_run:
            check_tree(version)
        epoch = source_epoch()
        release = Release(
            version, epoch, options.out.absolute(), os.environ.get("REPOSITORY_URL", ""), sys.executable
        )
        files = release.build(parts)
        release.check()
        if not options.dry_run:
            stamp_tree(ROOT, version, epoch)
    except ReleaseError as error:
        print(f"agent-ls: {error}", file=sys.stderr)
        return 1
    for file in files:
        print(f"  {file.stat().st_size:>10,}  {file.name}")
    if not options.dry_run:
        print(f"Next: git commit -am 'release: {version}' && git tag v{version}, then publish {options.out}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
