# Every target says what it does in the comment behind it; `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

GO ?= go
BIN := bin/settee
# Programs that are modules of their own, so that the server does not depend on what they need.
TESTED_MODULES := cmd/bench conformance/hostile
MODULES := $(TESTED_MODULES) cmd/searchpeers
VERSION := $(shell sed -n 's/^const release = "\(.*\)"$$/\1/p' cmd/settee/version.go)
# Without what only debuggers read: stacks of panics and profiles have their names from elsewhere.
LDFLAGS := -s -w
# How many bytes the program for linux/amd64 may have; docs/adr/0064 says of what. It only falls.
MAX_SIZE := 48150000

# What can be set on the command line.
ARGS ?=
URL_A ?= http://127.0.0.1:5984
URL_B ?=
COUCHDB_URL ?=
FILES ?=
ENGINES ?= pebble-packed,memory-packed
FUZZTIME ?= 60s
SEED ?= $(shell date +%s)
CRASH_ROUNDS ?= 200
DAMAGE_ROUNDS ?= 2000
HOSTILE_FLAGS ?=
BENCH_FLAGS ?=
SEARCH_FLAGS ?=
# Packages that start goroutines or are used by several; conformance talks to processes without the detector, and eventing
# takes two minutes more than the check has: RACE_PACKAGES=./eventing/... The longest come first: they run beside others.
RACE_PACKAGES ?= ./storage/... ./mango/... ./views/... ./server/... ./js/... ./search/... ./replication/... ./memory/... ./config/... ./cluster/... ./principal/... ./documents/...
RACE_FLAGS ?= -short
# tests of the whole program in which processes, nodes, feeds or clients run beside each other
RACE_PROGRAM ?= ^Test(Nodes|Shadow|Follow|Drain|Check|Replications|Functions|Serve|Node|Slow|Debug)
SHORT_PACKAGES ?= ./...
TEST_TIMEOUT ?= 9m

DEADCODE := golang.org/x/tools/cmd/deadcode@v0.48.0
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# Declarations of FoundationDB's C API, enough to type-check the binding where the client is not installed.
FDB_INCLUDE ?= $(CURDIR)/storage/kv/fdbkv/include
# The packages whose tests run on all engines.
FDB_PACKAGES ?= ./storage/... ./views/... ./mango/... ./search/... ./eventing/... ./server/documents/...
FDB_TIMEOUT ?= 30m
# Systems that a release is for and that the checks do not run on.
CROSS ?= windows/arm64 darwin/arm64 linux/arm
CLUSTER_DIR ?= data/cluster

TRANSCRIPTS := $(GO) run ./conformance/cmd/transcripts

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1|\2/' | column -t -s '|'

.PHONY: build
build: ## build bin/settee
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/settee

.PHONY: run
run: build ## build, and serve http://127.0.0.1:5984 with the data in ./data (ARGS= further options)
	$(BIN) serve --bind 127.0.0.1 --port 5984 --data ./data $(if $(wildcard bin/fauxton/index.html),--fauxton-dir bin/fauxton) $(ARGS)

.PHONY: fauxton
fauxton: ## fetch the web interface from npm into bin/fauxton; `make run` serves it (FAUXTON_VERSION=)
	docker/fetch-fauxton.sh bin/fauxton

.PHONY: console
console: ## build the console from the folder console into server/console/dist, which is committed (needs Node 20)
	cd console && npm ci --ignore-scripts --no-audit --no-fund && npm run check && npm test && npm run build

.PHONY: console-check
console-check: console ## the same, and what is committed has to be what was built
	@changed=$$(git status --porcelain server/console/dist); [ -z "$$changed" ] || \
		{ echo "server/console/dist is not what console/ gives: run make console and commit"; echo "$$changed"; exit 1; } >&2

.PHONY: test
test: ## the whole Go test suite, those of the benchmark and of the attacks too
	$(GO) test -timeout $(TEST_TIMEOUT) ./...
	for module in $(TESTED_MODULES); do (cd $$module && $(GO) test -timeout $(TEST_TIMEOUT) ./...) || exit 1; done

.PHONY: test-short
test-short: ## short forms of the tests, as on systems where nobody waits for the long ones (SHORT_PACKAGES=)
	$(GO) test -short -timeout 20m $(SHORT_PACKAGES)

.PHONY: test-race
test-race: ## short forms of the tests under the race detector (RACE_PACKAGES=, RACE_FLAGS= for the long ones)
	$(GO) test -race $(RACE_FLAGS) -timeout 20m $(RACE_PACKAGES)
	$(GO) test -race $(RACE_FLAGS) -timeout 20m ./cmd/settee -run '$(RACE_PROGRAM)'
	cd cmd/bench && $(GO) test -race $(RACE_FLAGS) -timeout 20m ./...

.PHONY: damage
damage: ## damage a store's files 2,000 times: opening, check and salvage have all that there was, or say so (DAMAGE_ROUNDS=)
	SETTEE_DAMAGE_ROUNDS=$(DAMAGE_ROUNDS) $(GO) test ./cmd/settee -count=1 -v -timeout 4h -run '^TestAnyDamageIsTold$$' | grep -v level=

.PHONY: movefiles
movefiles: build ## fill a CouchDB, migrate its files, compare every leaf and checkpoint (COUCHDB_URL= COUCHDB_DATA= DOCS=)
	$(if $(and $(COUCHDB_URL),$(COUCHDB_DATA)),,$(error COUCHDB_URL or COUCHDB_DATA is not set))
	$(GO) run ./tools/movefiles -couchdb $(COUCHDB_URL) -data $(COUCHDB_DATA) -binary $(BIN) -docs $(or $(DOCS),1000000)

.PHONY: test-clients
test-clients: build ## PouchDB and nano in Node against a real server process (COUCHDB_URL= for another server, SETTEE_SHADOW=settee for one with a shadow)
	cd test-clients && npm ci --ignore-scripts --no-audit --no-fund && \
		SETTEE_BINARY=$(CURDIR)/$(BIN) COUCHDB_URL=$(COUCHDB_URL) npm test

.PHONY: test-browser
test-browser: build fauxton ## the console, Fauxton and the debugger in Chromium against a real server process (apt-get install chromium; SCREENSHOTS=directory, COUCHDB_URL= for another server)
	cd test-clients/browser && npm ci --ignore-scripts --no-audit --no-fund && \
		SETTEE_BINARY=$(CURDIR)/$(BIN) COUCHDB_URL=$(COUCHDB_URL) COUCHDB_FAUXTON_DOCROOT=$(CURDIR)/bin/fauxton npm test

.PHONY: test-console
test-console: build ## each page of the console in Chromium; long lists that scroll (100,000 documents) are in test-browser alone
	cd test-clients/browser && npm ci --ignore-scripts --no-audit --no-fund && \
		SETTEE_BINARY=$(CURDIR)/$(BIN) node --test --test-concurrency=2 \
		$$(ls console-*.test.js | grep -v console-scroll)

.PHONY: docs
docs: ## the pages of docs/ as a site with search in site/dist, links and anchors checked (needs Node 20; any web server serves it)
	cd site && npm ci --ignore-scripts --no-audit --no-fund && npm run build && npm run check

.PHONY: conformance
conformance: ## replay CouchDB's transcripts and print the counts (ENGINES=, COUCHDB_URL=)
	@COUCHDB_URL=$(COUCHDB_URL) SETTEE_CONFORMANCE_REPORT=$(CURDIR)/conformance.txt $(GO) test -count=1 ./conformance \
		-run TestConformance -engines '$(ENGINES)' || failed=1; \
	cat conformance.txt; exit $${failed:-0}

.PHONY: conformance-waiting
conformance-waiting: ## say which scenarios that wait for a feature would pass now
	@$(GO) test -count=1 -v ./conformance -run TestConformance -waiting -engines pebble-packed | grep 'need not wait' || true

.PHONY: record
record: ## record transcripts from a real CouchDB (COUCHDB_URL= FILES=conformance/testdata/x.json)
	$(if $(COUCHDB_URL),,$(error COUCHDB_URL is not set))
	$(TRANSCRIPTS) record $(COUCHDB_URL) $(FILES)

.PHONY: record-next
record-next: ## say what a newer CouchDB answers otherwise than recorded, by route, in record-next.txt (COUCHDB_URL= FILES=)
	$(if $(COUCHDB_URL),,$(error COUCHDB_URL is not set))
	$(TRANSCRIPTS) changed $(COUCHDB_URL) $(or $(FILES),conformance/testdata/*.json) > record-next.txt

.PHONY: compare
compare: ## run scenarios side by side on URL_A and on a real CouchDB and print the differences (COUCHDB_URL= FILES=)
	$(if $(COUCHDB_URL),,$(error COUCHDB_URL is not set))
	$(TRANSCRIPTS) compare $(URL_A) $(COUCHDB_URL) $(or $(FILES),conformance/testdata/*.json)

.PHONY: metrics
metrics: ## how large the tree is and how well it is explained, beside the limits that TestMetrics holds
	@$(GO) test -count=1 -v -run 'TestMetrics$$' . | grep -v '^=== '

.PHONY: bench
bench: build ## the benchmark's workloads on URL_A, alternately with URL_B if given (URL_A= BENCH_FLAGS=--limits: against net/http and Pebble)
	cd cmd/bench && CGO_ENABLED=0 $(GO) build -o $(CURDIR)/bin/bench .
	SETTEE_BINARY=$(CURDIR)/$(BIN) bin/bench $(URL_A) $(URL_B) $(BENCH_FLAGS)

.PHONY: bench-search
bench-search: ## full-text search beside Bleve: builds, disk, queries in the process (SEARCH_FLAGS='-docs 1000000')
	cd cmd/searchpeers && $(GO) run . $(SEARCH_FLAGS)

.PHONY: bench-auth
bench-auth: ## what logins cost: basic authentication against none, 10,000 cookies, a flood of wrong passwords
	$(GO) test -count=1 -v -run TestManySessions -bench 'GetAs|BasicAuthCost|LoginFlood' ./server | grep -E '^(Benchmark|--- |FAIL|ok)|_test.go'

.PHONY: fuzz
fuzz: ## every fuzzer for FUZZTIME each
	.ci/fuzz $(FUZZTIME)

.PHONY: fuzz-queries
fuzz-queries: ## random Mango queries of random documents, by all indexes and by brute force, until two answers differ (SEED= to begin with)
	@echo 'the first seed is $(SEED)'
	$(GO) test -count=1 -timeout 0 ./mango -run 'TestQueriesAgree$$' -args -from $(SEED)

.PHONY: fuzz-access
fuzz-access: ## random users of a database with access for each document, beside plain databases of what each sees, until two answers differ (SEED= to begin with)
	@echo 'the first seed is $(SEED)'
	$(GO) test -count=1 -timeout 0 ./server -run 'TestSlices$$' -args -slices $(SEED)

.PHONY: crash
crash: ## kill the server and the store under load, CRASH_ROUNDS times each: no acknowledged write is lost, indexes equal fresh builds, event functions act once, messages arrive
	SETTEE_CRASH_ROUNDS=$(CRASH_ROUNDS) $(GO) test -v -count=1 -timeout 180m -run Crash ./conformance ./storage ./storage/kv/pebblekv

.PHONY: hostile
hostile: build ## attack a server with 512 MB and measure an innocent client meanwhile (HOSTILE_FLAGS='-duration 1h -memory 1GB': all together)
	cd conformance/hostile && SETTEE_BINARY=$(CURDIR)/$(BIN) $(GO) run . $(HOSTILE_FLAGS)

# Header and client library are where the compiler and the loader look, or CPATH, LIBRARY_PATH and LD_LIBRARY_PATH say where.
.PHONY: test-fdb
test-fdb: ## the engine's tests, those that run on every engine, and the transcripts, on FoundationDB as well (FDB_CLUSTER_FILE=)
	$(if $(FDB_CLUSTER_FILE),,$(error FDB_CLUSTER_FILE is not set))
	CGO_ENABLED=1 $(GO) test -tags fdb -count=1 -timeout $(FDB_TIMEOUT) $(FDB_PACKAGES)
	CGO_ENABLED=1 $(GO) test -tags fdb -count=1 -timeout $(FDB_TIMEOUT) ./conformance \
		-run 'TestConformance|Contended|TestNodes|TestWake|TestOutage|TestKills|TestUpgrade' -engines fdb
	CGO_ENABLED=1 $(GO) test -tags fdb -count=1 -timeout $(FDB_TIMEOUT) ./conformance -run TestConformance -engines fdb \
		-nodes 2

# FDB_BIN= where fdbserver and fdbcli are, if not on PATH; NODES= PORT=. Header and client library as above.
.PHONY: cluster
cluster: ## a cluster on this machine until Ctrl-C: three FoundationDB processes and two settee nodes (NODES=, PORT=, FDB_BIN=, CLUSTER_DIR=)
	CGO_ENABLED=1 $(GO) build -tags fdb -ldflags '$(LDFLAGS)' -o $(BIN)-fdb ./cmd/settee
	docker/local-cluster.sh $(BIN)-fdb $(CLUSTER_DIR)

.PHONY: size
size: ## the program for linux/amd64 has no more than MAX_SIZE bytes
	@GOOS=linux GOARCH=amd64 CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/size ./cmd/settee; \
	size=$$(wc -c <bin/size); rm bin/size; echo "$$size bytes, of $(MAX_SIZE)"; [ "$$size" -le $(MAX_SIZE) ]

.PHONY: vet
vet: ## go vet of the code behind the build tag fdb; golangci-lint has it for all other
	CPATH='$(FDB_INCLUDE)' $(GO) vet -tags fdb $$(git grep -l '^//go:build fdb' -- '*.go' | xargs -n1 dirname | sort -u | sed 's#^#./#')

.PHONY: deadcode
deadcode: ## functions that neither the programs nor the tests reach
	@dead=$$(for module in . $(MODULES); do (cd $$module && $(GO) run $(DEADCODE) -test ./...) || exit 1; done); if [ -n "$$dead" ]; then echo "$$dead" >&2; exit 1; fi

.PHONY: lint-files
lint-files: ## check shell scripts, the systemd unit and YAML with the tools that are installed
	.ci/lint-files

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in what the binary calls
	.ci/vulncheck

.PHONY: lint
lint: vet deadcode lint-files size ## go vet, deadcode, the size of the program, golangci-lint (with vet and staticcheck) at pinned versions, scripts and YAML
	for module in . $(MODULES); do (cd $$module && $(GO) run $(GOLANGCI) run ./...) || exit 1; done

.PHONY: fmt
fmt: ## gofmt all files
	gofmt -l -w $$(git ls-files '*.go')

.PHONY: docker
docker: ## build the container image settee:VERSION
	docker build -t settee:$(VERSION) .

.PHONY: cross
cross: ## compile everything, tests too, for the systems that the checks do not run on (CROSS=)
	for target in $(CROSS); do echo "$$target"; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) vet ./... || exit 1; done

.PHONY: release
release: ## build all of a release into dist/ from a clean tree: archives, packages, SBOM, checksums (docs/releasing.md)
	packaging/release.sh

.PHONY: release-archives
release-archives: ## the archives and their checksums only
	packaging/release.sh archives

.PHONY: try-deb
try-deb: ## install, start, upgrade, remove and purge dist/*.deb in a Debian root (as root; DEB_ROOT=)
	packaging/try-deb.sh

.PHONY: clean
clean: ## remove what was built; ./data stays
	rm -rf bin dist conformance.txt record-next.txt test-clients/node_modules site/dist site/node_modules
