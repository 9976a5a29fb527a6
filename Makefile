# make demo     what fettle does, on throwaway roots: one machine, then a hub with three
# make build    bin/fettle, static; it carries the program for targets with this processor
# make programs the same, with the programs for targets of every processor
# make test     all short tests, and a sample of the long ones; as root also those on real Debian hosts
# make campaigns  all long tests in full: random rounds, power cuts, kills, hostile input, real hosts
# make night    all tests in full, on Debian 12 and 13: hours
# make lint     format, vet, staticcheck, known vulnerabilities
# make cover    what the engine's own tests run, against floors; in dist/cover.html
# make mutants  break the engine's code in small ways and see whether tests notice
# make deb      the Debian package, in dist/
# make bench    measure beside cf-agent, Puppet, Ansible and the physical limit; writes docs/performance.md
# make bench-hosts  many hosts over SSH, beside Ansible and OpenSSH alone; writes docs/performance-hosts.md
# make bench-fleet  a hub with thousands of agents, beside TLS and the message bus alone; writes docs/performance-fleet.md
# make fuzz     every fuzz target for FUZZTIME each

STATICCHECK_VERSION = v0.8.2
GOVULNCHECK_VERSION = v1.9.0
FUZZTIME = 30s
MUTANTS = 60
# Selects the part of the long tests that make test runs: see test/sample. make test SAMPLE=… repeats a part;
# make test SAMPLE= runs all parts.
SAMPLE = $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo fixed)
SEED = $(shell date +%Y%m%d)

tools = $(CURDIR)/.cache/bin
staticcheck = $(tools)/staticcheck-$(STATICCHECK_VERSION)

.PHONY: demo build programs deb bench bench-hosts bench-fleet test campaigns night setup lint format vet staticcheck govulncheck cover mutants fuzz clean

demo: build
	@examples/demo/demo.sh
	@examples/demo/fleet.sh

build:
	packaging/program.sh bin/fettle $(filter amd64 arm64,$(shell go env GOHOSTARCH))

programs:
	packaging/program.sh bin/fettle amd64 arm64

deb:
	packaging/build.sh dist

# Packages with hosts take longer than go test's ten minutes on a small machine. Packages that mostly wait, for hosts or
# for elections, come first, so that the other packages use the CPUs meanwhile. For the same reason, more packages and
# tests run at once than there are CPUs. The race detector makes tests three to ten times slower: the packages of
# concurrent have it always, and each of the others for every sixteenth commit, but those of plain never.
concurrent = ./internal/fleet/hub ./internal/fleet/bus/... ./internal/fleet/agent/... ./internal/stream ./internal/executor/ssh/...
# These packages take longest among the others, so they come next: a long package at the end would run alone.
slow = ./internal/executor/local ./test/fire ./internal/fleet/content ./internal/repo ./cmd/fettle ./test/histories \
	./internal/compile ./internal/fleet/rollout ./internal/ui/cli/commands ./test/hosts ./test/web ./test/bench/fleet

# The compiler and the linker need a sixth less CPU time if they collect garbage less often. The tests do not have
# this setting, because some of them limit the memory.
lazily = GOGC=400
plainflags = -vet=off -ldflags=-w -toolexec="env $(lazily)"

# The race detector would delay the end of each binary by a second, and tests start thousands. make
# vet has vetted all packages. Without debug information, the tests are linked in half the time.
# SQLite is translated C code without locks of its own; the detector would make it three times
# slower. Do not exclude packages with generics or atomics: the linker shares such code.
testflags = -race $(plainflags) -gcflags=modernc.org/sqlite/lib=-race=false -parallel 4

# Tests of the hub that also run without the race detector, or only without it: see the files with the tag !race.
unraced = ^(TestFullDisk|TestSimulatedHistories$$|TestAgentThatReportsWithoutEnd$$)

# The detector makes the tests of these packages four times slower, and they are a fifth of all. So for each commit, one
# of six parts of similar duration, by the first letter of the test, has the detector, and the others run without it.
divided = ./internal/fleet/hub ./internal/fleet/bus
parts = '[A-C]' '[DE]' '[F-H]' '[I-O]' '[P-R]' '[^A-R]'

# These packages run without the race detector: those that test the source, the documents and the examples; those that
# test the program, not its packages; and pure packages, which start no goroutine. TestPlainPackages checks the list.
plain = ./internal/arch ./examples ./test/mutants ./test/pastbugs \
	./test/bench ./test/campaign ./test/crash ./test/fire ./test/histories ./test/lock ./test/outside ./test/sample ./test/secrets \
	./internal/compile ./internal/plan ./internal/step ./internal/fleetdiff ./internal/catalog ./internal/kind/... \
	./internal/lang/syntax ./internal/lang/functions ./internal/lang/source ./internal/lang/query ./internal/lang/eval \
	./internal/lang/incremental ./internal/lang/front/... \
	./internal/graph ./internal/ui/listgraph ./internal/image ./internal/debver ./internal/semver ./internal/window ./internal/fleet/assign ./internal/fleet/balance ./internal/fleet/rollout ./internal/fleet/selection ./internal/fleet/clone ./internal/fleet/coordination/... ./internal/fleet/elastic ./internal/fleet/scope \
	./internal/fleet/agent/machine

# Packages with tests that run as a sample.
campaigns = ./test/e2e ./test/fire ./test/crash ./test/hostile ./test/powercut ./test/histories ./test/lock ./test/outside \
	./test/fidelity ./test/order ./test/flood ./test/largefleet ./test/coordination ./test/chaos ./internal/apply ./internal/executor/local ./internal/journal ./internal/debver \
	./internal/repo

test: export FETTLE_SAMPLE = $(SAMPLE)
test: setup
	@echo "The sample of the long tests is $(SAMPLE): make test SAMPLE=$(SAMPLE) repeats it, make campaigns runs all of them."
	plain=$$(go list $(plain)); raced=$$(go list $(concurrent) | grep -vxF "$$plain"); divided=$$(go list $(divided)); slow=$$(go list $(slow)); all=$$(go list ./... | grep -vxF "$$slow"); \
	all=$$(printf '%s\n' "$$slow" "$$all"); with=.; without='$(unraced)'; \
	others=$$(echo "$$all" | grep -vxF "$$raced" | grep -vxF "$$plain" | grep -vxF "$$(go list ./test/e2e)"); \
	if [ -n "$$FETTLE_SAMPLE" ]; then \
		part=$$(printf %s "$$FETTLE_SAMPLE" | cksum | cut -d' ' -f1); \
		raced=$$(printf '%s\n' "$$raced"; echo "$$others" | awk "NR % 16 == $$((part % 16))"); \
		i=0; without="$$without|^(Example|Fuzz)"; for letters in $(parts); do \
			if [ $$i = $$((part / 16 % 6)) ]; then with="^Test$$letters"; else without="$$without|^Test$$letters"; fi; \
			i=$$((i + 1)); \
		done; \
	else raced=$$(printf '%s\n' "$$raced" "$$others"); fi; \
	GORACE=atexit_sleep_ms=0 go test $(testflags) -timeout 30m -run "$$with" $$divided & some=$$!; \
	CGO_ENABLED=0 go test $(plainflags) -timeout 30m -run "$$without" $$divided & rest=$$!; \
	GORACE=atexit_sleep_ms=0 go test $(testflags) -p 2 -timeout 30m $$(echo "$$raced" | grep -vxF "$$divided") & race=$$!; \
	CGO_ENABLED=0 go test $(plainflags) -p 3 -parallel 4 -timeout 30m ./test/e2e \
		$$(echo "$$all" | grep -vxF "$$raced"); failed=$$?; \
	wait $$race || failed=1; wait $$some || failed=1; wait $$rest || failed=1; exit $$failed

campaigns: setup
	FETTLE_LONG=1 go test $(plainflags) -p 3 -parallel 4 -timeout 6h $(campaigns)

# The second run repeats only the tests on real hosts, on the release that make test runs
# the short set on.
night: setup
	FETTLE_LONG=1 GORACE=atexit_sleep_ms=0 go test $(testflags) -p 3 -timeout 6h ./test/e2e $(concurrent) ./...
	CGO_ENABLED=0 go test $(plainflags) -timeout 30m -run '$(unraced)' ./internal/fleet/hub
	FETTLE_LONG=1 FETTLE_TEST_RELEASE=trixie GORACE=atexit_sleep_ms=0 go test $(testflags) -p 3 -timeout 6h ./test/e2e ./test/hosts

# What the tests on real hosts need, on Debian and as root; nothing otherwise.
setup:
	@if [ "$$(id -u)" = 0 ]; then test/setup.sh; fi

lint: format vet staticcheck govulncheck

format:
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "gofmt -w these files:"; echo "$$files"; exit 1; fi

# Without cgo, as the program is built: what one has compiled is there for the others.
vet:
	CGO_ENABLED=0 $(lazily) go vet ./...

staticcheck: $(staticcheck)
	CGO_ENABLED=0 $(staticcheck) ./...

govulncheck:
	test/govulncheck.sh $(GOVULNCHECK_VERSION) $(tools)

$(staticcheck):
	GOBIN=$(tools) go install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
	mv $(tools)/staticcheck $@

cover: setup
	go run ./test/cover
	go tool cover -html=dist/cover.out -o dist/cover.html

# A sample of MUTANTS from each package, another one each night: MUTANTS=0 takes all.
mutants:
	go run ./test/mutants -count $(MUTANTS) -seed $(SEED) -floor 85 -tests internal/journal,internal/apply internal/journal
	go run ./test/mutants -count $(MUTANTS) -seed $(SEED) -only 'apply/(machine|recover|replay|undo)\.go' internal/apply
	go run ./test/mutants -count $(MUTANTS) -seed $(SEED) -floor 85 $(guards)
	go run ./test/mutants -floor 94 internal/verb/pkg
	go run ./test/mutants -count $(MUTANTS) -seed $(SEED) -floor 85 internal/plan

# The packages that decide whom a fleet believes, what a host may lose, and how many hosts a change reaches.
guards = internal/fleet/access internal/fleet/pki internal/fleet/assign internal/fleet/agent/machine \
	internal/fleet/content internal/fleet/hub/api internal/fleet/rollout internal/fleet/hub/rollouts \
	internal/fleet/coordination internal/fleet/coordination/barrier internal/fleet/coordination/signal \
	internal/fleet/coordination/task internal/fleet/scope internal/fleet/elastic

# As root on Debian it installs cfengine3, puppet and ansible-core when they are
# missing. Some ten minutes; a part: make bench BENCHFLAGS="-works repair -tools 'limit|one tree'"
bench: build
	go run ./test/bench -date "$$(date -u +%F)" $(BENCHFLAGS)

# As root, on Linux with control groups; it installs openssh-server and ansible-core
# when they are missing. A part: make bench-hosts BENCHFLAGS="-hosts 20 -tools 'limit|fettle'"
bench-hosts: build
	go run ./test/bench/hosts -date "$$(date -u +%F)" $(BENCHFLAGS)

# On Linux, with git. As many agents as two cores and the limit on open files carry: a hub
# has one for each. A part: make bench-fleet BENCHFLAGS="-agents 500"
bench-fleet: build
	go run ./test/bench/fleet -date "$$(date -u +%F)" $(BENCHFLAGS)

fuzz:
	test/fuzz.sh $(FUZZTIME)

clean:
	rm -rf bin dist .cache
