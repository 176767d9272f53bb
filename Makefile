# Each line of "make help" is a target with a comment that begins with ##.

GOLANGCI    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
COMPOSE     ?= $(shell if docker compose version >/dev/null 2>&1; then echo docker compose; else echo docker-compose; fi)
# The project has a name here, because docker-compose 1 refuses one in the file.
FIVE        := -p redlock -f docker-compose.5node.yml
REDISIMAGE  := go run ./internal/redisbox/redisimage/cmd/redisimage
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GORELEASER  := github.com/goreleaser/goreleaser/v2@v2.14.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
GOTESTSUM   := gotest.tools/gotestsum@v1.13.0
MASTERS     := redis://127.0.0.1:6391,redis://127.0.0.1:6392,redis://127.0.0.1:6393,redis://127.0.0.1:6394,redis://127.0.0.1:6395

# The modules of the workspace (go.work). Only the first one is what a user of the library requires.
MODULES     := . bench chaos contrib/gocron contrib/goose contrib/otel contrib/prometheus examples/certmagic examples/day examples/fencing examples/schedulers integration internal/redisbox mutate
PACKAGES    := $(foreach m,$(MODULES),./$(if $(filter .,$(m)),,$(m)/)...)

# The linter has go vet, so go test does without it, and builds faster.
# RACE=1 looks for data races too, but not in the interpreter of Lua, whose states are never shared: the simulated
# masters interpret all scripts, and the race detector makes that several times as slow. ARGS="-run TestX" passes flags to go test. The summary at the end has
# every test that was skipped, with its reason. TESTREPORT gets the output of go test -json.
RUNTESTS   = go run $(GOTESTSUM) --format pkgname --jsonfile $(TESTREPORT) --packages="$(1)" -- $(TESTFLAGS)
TESTREPORT ?= bin/test-report.json
RACEFLAGS := -race -gcflags=github.com/yuin/gopher-lua/...=-race=false
TESTFLAGS := -count=1 -timeout=15m -vet=off $(if $(RACE),$(RACEFLAGS)) $(ARGS)
# How many times make chaos-soak plays everything.
ROUNDS ?= 4
# How long make day looks at each incident, at least.
LOOK ?= 45s
# How long make fuzz runs each target: a number of inputs, or a duration, such as 1h. At the end of a duration Go 1.26 may
# report an error (go.dev/issue/75804).
FUZZTIME ?= 20000x
# What make mutate tries: the packages (all that are listed in mutate), and how many mutants of each at most (0: all).
MUTATE ?=
SAMPLE ?= 400
# How many schedules make sim and make exact run. make chaos runs 700, or SCHEDULES.
SCHEDULES ?= 5000
# In how many orders make exact plays each schedule.
ORDERS ?= 1

.DEFAULT_GOAL := help
.PHONY: help build test test-all race verify integration fuzz mutate sim exact orders model model-quick image up down chaos chaos-soak guarantees bench bench-check bench-docs bench-smoke smoke day lint tidy-check tidy as-user fmt cross clean vuln package-files docker snapshot release

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the redlock command, in bin/
	go build -o bin/redlock ./cmd/redlock

test: ## the tests of the library and the command, and at the end what did not run, and why (RACE=1, ARGS=...)
	@mkdir -p $(dir $(TESTREPORT))
	@$(call RUNTESTS,./...)
	@echo "make test-all also has the tests of the harnesses, the adapters, the examples and real masters in containers."

# The image is made beforehand, where one sees what takes a while. Without Docker the summary says what did not run.
test-all: ## every test of all modules (RACE=1, ARGS=...)
	@$(REDISIMAGE) >/dev/null || true
	@mkdir -p $(dir $(TESTREPORT))
	@$(call RUNTESTS,$(PACKAGES))

race: ## make test-all with the race detector
	@$(MAKE) --no-print-directory test-all RACE=1

verify: sim exact orders fuzz model chaos chaos-soak ## everything that explores, one after the other: hours

integration: image ## the tests against five real masters in containers, alone
	@mkdir -p $(dir $(TESTREPORT))
	@$(call RUNTESTS,./integration/... ./internal/redisbox/...)

sim: ## the real stack in virtual time, natively, under random faults (SCHEDULES=5000 SEED=random)
	@echo "natively: a seed repeats the faults, but not the order of goroutines; make exact repeats both"
	go test -v ./chaos/internal/simulation -run "^TestSchedules$$" -count=1 -timeout=0 -schedules=$(SCHEDULES) -seed=$(or $(SEED),0)

exact: ## the same, so that a seed and an order repeat everything (SCHEDULES=5000 SEED=random ORDERS=1)
	go run ./chaos -exact -schedules $(SCHEDULES) -orders $(ORDERS) $(if $(SEED),-seed $(SEED))

orders: ## every test in virtual time in many orders, exactly (ORDERS=50; a minute an order)
	go run ./chaos -tests .,./internal/stacktest,./quorum,./internal/wire,./internal/link,./election,./keyed,./internal/keepalive -orders $(if $(filter file,$(origin ORDERS)),50,$(ORDERS))

# A failing input is written to testdata/fuzz of its package, where go test runs it from then on.
fuzz: ## the models with a seed of the day, and every fuzz target, each for FUZZTIME=20000x
	@failed=0; go test ./internal/kind -run Model -count=1 -rapid.seed=$$(date +%s) -rapid.checks=500 || failed=1; \
	  for p in $$(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n 1 dirname | sort -u); do \
	  for t in $$(grep -ho '^func Fuzz[A-Za-z0-9]*' $$p/*_test.go | cut -c 6-); do \
	    echo "$$p $$t"; go test ./$$p -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) || failed=1; \
	  done; done; exit $$failed

mutate: ## change the code in one place at a time, and see a test fail (MUTATE=quorum SAMPLE=100)
	go run ./mutate -sample $(SAMPLE) $(MUTATE)

model: ## check the models of model/ with Spin, and remove one rule after the other
	model/check

model-quick: ## the small instances of them, and every removed rule
	model/check quick

image: ## find, pull or build the Redis image of the container tests
	@$(REDISIMAGE)

up: ## start five masters in containers on 127.0.0.1:6391-6395
	@image=$$($(REDISIMAGE)) && REDLOCK_REDIS_IMAGE=$$image $(COMPOSE) $(FIVE) up -d
	@echo "export REDLOCK_MASTERS=$(MASTERS)"

down: ## stop and remove them
	$(COMPOSE) $(FIVE) down

chaos: image ## inject faults, play schedules exactly, and catch broken locks (SCHEDULES=700 SEED=random)
	go run ./chaos $(if $(filter file,$(origin SCHEDULES)),,-schedules $(SCHEDULES)) $(if $(SEED),-seed $(SEED))

chaos-soak: image ## every scenario on containers and on processes, ROUNDS=4 times, until one is not as promised
	for round in $$(seq $(ROUNDS)); do for on in containers processes; do \
	go run ./chaos -scenario '*' -backend $$on -lanes 2 || exit; done; done

guarantees: ## write the table of docs/guarantees.md as the scenarios declare it
	go test ./chaos/internal/scenarios -run TestTheTableOfGuaranteesIsUpToDate -update

bench: ## the benchmark: latency, far masters, contention, slots, faults; 17 minutes; needs redis-server
	go run ./bench

bench-check: ## compare the benchmark with the project's targets (on an idle machine)
	go run ./bench -check

bench-docs: ## the same, and write bench-report/report.html and the pictures of docs/performance.md
	go run ./bench -check -save bench-report/run.json -html bench-report/report.html -pictures bench-report
	cd bench-report && cp throughput.svg wan.svg contention.svg fault-frozen-12s.svg ../docs/performance

bench-smoke: ## a short benchmark: that it runs, and that no ratio is far off
	go run ./bench -smoke -check

# Two seconds, because masters report their uptime in whole ones: to a new process they may seem a little younger.
smoke: build ## README's first command, and then the built command against five masters in containers, two of them killed
	go run ./cmd/redlock run --embedded nightly-report -- echo "one of us runs this"
	@trap '$(MAKE) --no-print-directory down' EXIT; set -e; \
	  $(MAKE) --no-print-directory up; set -x; export REDLOCK_MASTERS=$(MASTERS); \
	  bin/redlock run --wait 1m --pass-masters nightly-report -- bin/redlock status nightly-report; sleep 2; bin/redlock status; \
	  $(COMPOSE) $(FIVE) kill redis-1 redis-4; \
	  bin/redlock run --wait 10s nightly-report -- echo "with three of five"

day: ## break one thing after the other, and see what reports it, and how soon (LOOK=45s; 6 minutes)
	go run ./examples/day -look $(LOOK)

lint: tidy-check ## go mod tidy, golangci-lint (.golangci.yml) and actionlint; change nothing
	go run $(ACTIONLINT)
	go run $(GOLANGCI) run $(PACKAGES)

tidy-check:
	@.ci/modules tidy -diff

tidy: ## go mod tidy in every module
	@.ci/modules tidy

as-user: ## pack the modules, and use them from elsewhere: library, command, adapters, chaos, bench; needs redis-server
	@.ci/modules use

fmt: ## format every Go file
	@for m in $(MODULES); do (cd $$m && go run $(GOLANGCI) fmt ./...) || exit 1; done

# Without optimizations, because only the compiler's errors matter.
cross: ## compile for macOS, and what users import or run for Windows
	GOOS=darwin go build -gcflags='all=-N -l' $(PACKAGES)
	GOOS=windows go build -gcflags='all=-N -l' $(filter ./... ./contrib/%,$(PACKAGES))

vuln: ## known vulnerabilities in what the code calls (needs vuln.go.dev)
	@for m in $(MODULES); do (cd $$m && go run $(GOVULNCHECK) ./...) || exit 1; done

package-files: build ## the man page and the completions that packages install, in packaging/
	bin/redlock man > packaging/redlock.1
	@for s in bash zsh fish; do bin/redlock completion $$s > packaging/redlock.$$s || exit 1; done

docker: ## the image of the command, redlock:local (Dockerfile)
	CGO_ENABLED=0 go build -trimpath -o bin/image/redlock ./cmd/redlock
	docker build -q -f Dockerfile -t redlock:local bin/image

snapshot: ## the files of a release, in dist/; publish nothing
	go run $(GORELEASER) check
	go run $(GORELEASER) release --snapshot --clean

release: ## publish a release of the tag (the release workflow)
	go run $(GORELEASER) release --clean

clean: ## remove the output of the other targets
	rm -rf bin dist chaos-report bench-report coverage.out
