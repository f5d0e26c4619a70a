# Culm needs Go and git to build, and a C compiler to test (for the race detector).
# Everything else is fetched through the Go module proxy by these targets.
#
#   make check     everything that must hold before a change goes in
#   make help      all targets

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help

# Programs of tools/go.mod: versions pinned there, built from the module proxy.
TOOL = go tool -modfile=tools/go.mod

# What a release is built with, and what vulnerabilities are looked for with.
RELEASE_TOOLCHAIN ?= go1.27.3

# Seconds that each fuzz target gets: in check, and in a campaign of its own.
SHORT_FUZZ_SECONDS ?= 10
FUZZ_SECONDS       ?= 300

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# timed NAME,COMMAND runs one part of check and prints how long it took.
define timed
	@start=$$SECONDS; printf '== %s\n' '$(1)'; $(2); printf '== %s: ok, %d s\n' '$(1)' "$$((SECONDS - start))"
endef

## help: list the targets
.PHONY: help
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## check: format, vet, staticcheck, tidy, build, tests with the race detector, short fuzzing
.PHONY: check
check:
	@start=$$SECONDS; \
	for part in check-format check-vet check-staticcheck check-tidy check-build check-test check-fuzz; do \
		$(MAKE) $$part; \
	done; \
	printf '== check: ok, %d s\n' "$$((SECONDS - start))"

.PHONY: check-format
check-format:
	$(call timed,format,files="$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))"; \
		test -z "$$files" || { printf 'not formatted; run gofmt -w on:\n%s\n' "$$files"; exit 1; })

.PHONY: check-vet
check-vet:
	$(call timed,vet,go vet ./...)

.PHONY: check-staticcheck
check-staticcheck:
	$(call timed,staticcheck,$(TOOL) staticcheck ./...)

.PHONY: check-tidy
check-tidy:
	$(call timed,tidy,go mod tidy -diff && go -C tools mod tidy -diff && go mod verify)

.PHONY: check-build
check-build:
	$(call timed,build,$(MAKE) build)

.PHONY: check-test
check-test:
	$(call timed,test,go test -race -timeout 12m ./...)

.PHONY: check-fuzz
check-fuzz:
	$(call timed,fuzz,$(MAKE) fuzz FUZZ_SECONDS=$(SHORT_FUZZ_SECONDS))

## build: the static binary, into bin/culm
.PHONY: build
build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/culm ./cmd/culm

## test: the tests, without the race detector
.PHONY: test
test:
	go test ./...

## lint: vet and staticcheck alone
.PHONY: lint
lint: check-format check-vet check-staticcheck

## fuzz: each fuzz target for FUZZ_SECONDS (300)
.PHONY: fuzz
fuzz:
	@go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}} {{.ImportPath}}{{end}}' ./... | while read -r dir package; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$dir"/*_test.go); do \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime "$(FUZZ_SECONDS)s" "$$package" < /dev/null; \
		done; \
	done

## torture: 200 rounds of SIGKILL over all plan shapes, and a minute of eight processes on one store
.PHONY: torture
torture:
	CULM_ROUNDS=200 CULM_FAIR_SECONDS=60 go test -race -count=1 -timeout 120m -v ./test/crash/...

## bench: what a step costs, beside a bare log on the same disk
.PHONY: bench
bench:
	go test -run '^$$' -bench . -benchtime 3s -timeout 30m ./test/bench/... ./store/sqlite/... ./internal/engine/...

## vuln: known vulnerabilities, built as a release is
.PHONY: vuln
vuln:
	GOTOOLCHAIN=$(RELEASE_TOOLCHAIN) $(TOOL) govulncheck ./...

## clean: remove what was built
.PHONY: clean
clean:
	rm -rf bin
