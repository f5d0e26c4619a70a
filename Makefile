# Culm needs Go and git. What these targets need beside them (staticcheck, a C
# compiler for the race detector) they bring themselves where they may.
# They work with GNU Make 3.81, which macOS has.

SHELL         := /bin/bash
MAKEFLAGS     += --no-print-directory
.DEFAULT_GOAL := help

# Programs of tools/go.mod: versions pinned there, built from the module proxy.
TOOL := go tool -modfile=tools/go.mod

# What releases are built with, and what vulnerabilities are looked for with.
RELEASE_TOOLCHAIN ?= go1.27.3

# Seconds for each fuzz target: in a campaign of its own, and in check.
FUZZ_SECONDS       ?= 300
SHORT_FUZZ_SECONDS ?= 10

## help          list the targets
.PHONY: help
help:
	@sed -n 's/^## /make /p' $(MAKEFILE_LIST)

## check         all that must hold: format, vet, staticcheck, tidy, build, test -race, short fuzz
PARTS := format vet staticcheck tidy build race fuzz
.PHONY: check
check:
	@start=$$SECONDS; \
	for part in $(PARTS); do $(MAKE) check-$$part || exit 1; done; \
	printf '== check: ok, %d s\n' "$$((SECONDS - start))"

# check-NAME runs one part of check, and prints how long that took.
.PHONY: $(addprefix check-,$(PARTS)) $(addprefix part-,$(PARTS))
$(addprefix check-,$(PARTS)): check-%:
	@start=$$SECONDS; printf '== %s\n' '$*'; \
	if $(MAKE) part-$*; then printf '== %s: ok, %d s\n' '$*' "$$((SECONDS - start))"; \
	else printf '== %s: FAILED, %d s\n' '$*' "$$((SECONDS - start))"; exit 1; fi

part-format:
	@files=$$(gofmt -l $$(find . -name '*.go' -not -path './.git/*')) || exit 1; \
	test -z "$$files" || { printf 'not formatted; to mend it: gofmt -w\n%s\n' "$$files"; exit 1; }

part-vet:
	@go vet ./...

part-staticcheck:
	@$(TOOL) staticcheck ./...

part-tidy:
	@go mod tidy -diff && go -C tools mod tidy -diff && go mod verify

part-build: build

# Without a C compiler there is no race detector. Then continuous integration
# fails; anyone else is told, and the tests run without it. The race detector's
# checks of pointers take a third of the time in SQLite, translated from C; they are
# left out there.
part-race:
	@race=-race; export CGO_ENABLED=1; \
	if [ "$$(uname -s)" = Linux ] && ! .ci/compiler; then \
		test -z "$$CI" || exit 1; \
		echo 'WARNING: the tests run WITHOUT the race detector'; race=; CGO_ENABLED=0; \
	fi; \
	go test $$race -gcflags='modernc.org/...=-d=checkptr=0' -count=1 -timeout 12m ./...

part-fuzz:
	@$(MAKE) fuzz FUZZ_SECONDS=$(SHORT_FUZZ_SECONDS)

## build         the static binary, into bin/culm
.PHONY: build
build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/culm ./cmd/culm

## test          the tests, without the race detector
.PHONY: test
test:
	go test ./...

## lint          format, vet and staticcheck alone
.PHONY: lint
lint: check-format check-vet check-staticcheck

## fuzz          each fuzz target for FUZZ_SECONDS (300)
.PHONY: fuzz
fuzz:
	@grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
			echo "$$target, $$(dirname "$$file"):"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime "$(FUZZ_SECONDS)s" "$$(dirname "$$file")" < /dev/null || exit 1; \
		done || exit 1; \
	done

## torture       200 rounds of SIGKILL over all plan shapes, a minute of eight processes on one store
.PHONY: torture
torture:
	CULM_ROUNDS=200 go test -race -count=1 -timeout 120m -v ./test/crash/...
	CULM_FAIR_SECONDS=60 go test -run EightProcesses -count=1 -timeout 10m -v ./test/crash/...

## bench         what a step costs, beside a bare log on the same disk
.PHONY: bench
bench:
	go test -run '^$$' -bench . -timeout 60m ./test/bench/... ./store/sqlite/...

## vuln          known vulnerabilities, as a release would have them
.PHONY: vuln
vuln:
	GOTOOLCHAIN=$(RELEASE_TOOLCHAIN) $(TOOL) govulncheck ./...

## clean         remove what was built
.PHONY: clean
clean:
	rm -rf bin
