# Everything a newcomer or CI needs. `make run` and `make test` install what is missing, with apt.

CARGO ?= cargo
BUILT = $(or $(CARGO_TARGET_DIR),./target)
# The demo, the tests and the benchmark need these programs; each is looked for before anything is installed.
RUN_TOOLS   = mariadbd:mariadb-server-core mariadb:mariadb-client-core cc:gcc
# A browser elsewhere: CHROMIUM=PATH.
CHROMIUMS   = chromium,chromium-browser,google-chrome
PAGE_TOOLS  = node:nodejs npm:npm $(if $(CHROMIUM),$(CHROMIUM),$(CHROMIUMS)):chromium
TEST_TOOLS  = $(RUN_TOOLS) $(PAGE_TOOLS) sysbench:sysbench haproxy:haproxy promtool:prometheus mariadb-binlog:mariadb-client \
	/usr/lib/galera/libgalera_smm.so:galera-4 /usr/lib/mysql/plugin/auth_ed25519.so:mariadb-server
BENCH_TOOLS = $(TEST_TOOLS) mariadb-dump:mariadb-client
CARGO_DENY_VERSION = 0.20.2
CARGO_LLVM_COV_VERSION = 0.9.1
CARGO_MUTANTS_VERSION = 27.1.0
CARGO_FUZZ_VERSION = 0.13.2

.PHONY: help run build optimized test test-servers test-clients test-page docs sim soak soak-shards soak-cache soak-causal history chaos lint coverage mutants bench bench-cache bench-causal bench-shards icount fuzz packages check-packages tools-run tools-test tools-bench

help: ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

run: tools-run ## Install what is missing, build, and run the demo until Ctrl-C.
	$(CARGO) build --release --locked --package pointsman
	$(BUILT)/release/pointsman demo $(DEMO_ARGS)

build: ## Build the release binary: target/release/pointsman.
	$(CARGO) build --release --locked --package pointsman

optimized: tools-bench ## Build it by what the benchmark shows of it (15 minutes): target/optimized/pointsman.
	@CARGO="$(CARGO)" sh scripts/optimized $(BUILT)

test: tools-test test-servers ## Install what is missing and run every test.
	$(CARGO) build --locked --package pointsman
	$(CARGO) test --locked --workspace --no-fail-fast

test-servers: ## Put MySQL 9.7 for tests into the user's cache folder, once.
	@sh scripts/test-servers

test-clients: tools-test test-servers ## Drivers with and without the proxy, all or some: make test-clients DRIVERS=pymysql,sqlx SIZE=quick
	@sh scripts/need mariadb_config:libmariadb-dev pkg-config:pkg-config || echo "mysqlclient will be skipped"
	$(CARGO) build --locked --package pointsman
	DRIVERS=$(DRIVERS) SIZE=$(SIZE) $(CARGO) test --locked --package e2e --test clients -- --ignored

lint: ## Formatting, lengths and words, clippy, docs, and what may enter the dependency tree.
	$(CARGO) fmt --all --check
	$(CARGO) run --quiet --locked --package tidy
	$(CARGO) clippy --locked --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --locked --workspace --no-deps --quiet
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked --version $(CARGO_DENY_VERSION) cargo-deny
	$(CARGO) deny --locked --all-features check --hide-inclusion-graph bans licenses sources
	$(CARGO) check --quiet --locked --no-default-features --manifest-path fuzz/Cargo.toml

test-page: ## The page for operators in a real browser, against a mock: make test-page, or URL=http://127.0.0.1:6080 WEB_USER=admin WEB_PASSWORD=admin
	@sh scripts/need $(PAGE_TOOLS)
	node crates/web/page-tests/run.mjs $(URL) $(WEB_USER) $(WEB_PASSWORD)

docs: ## Make the manual as a site, and check its links: target/docs/index.html.
	@CARGO="$(CARGO)" sh scripts/docs $(BUILT)/docs

sim: ## Simulated clients, servers and faults, with a hash of all bytes of each seed: make sim SEEDS=10000, or one again: make sim SEED=17
	POINTSMAN_SIM_SEEDS=$(or $(SEEDS),10000) POINTSMAN_SIM_SEED=$(SEED) POINTSMAN_SIM_TRANSCRIPTS=1 \
		$(CARGO) test --locked --package proxy --test sim -- --nocapture

soak: tools-test test-servers ## The model test with fresh seeds for ten minutes: make soak SECONDS=600 SERVER=mariadb SHARED=yes|no|line CACHED=user|proven|shared
	$(CARGO) build --locked --package pointsman
	POINTSMAN_MODEL_SECONDS=$(or $(SECONDS),600) $(if $(CACHED),POINTSMAN_MODEL_CACHED=$(CACHED)) $(CARGO) test --locked --package e2e --test model -- \
		--ignored --nocapture --exact on_$(or $(SERVER),mariadb)::soak$(if $(filter no,$(SHARED)),_one_to_one)$(if $(filter line,$(SHARED)),_in_one_line)

soak-shards: tools-test test-servers ## Random statements over shards beside one server, with fresh seeds: make soak-shards SECONDS=600 STATEMENTS=1000000 SERVER=mysql SEED=17 DIRECT=yes
	$(CARGO) build --locked --package pointsman
	POINTSMAN_SHARDS_SECONDS=$(or $(SECONDS),$(if $(STATEMENTS),10800,600)) $(if $(STATEMENTS),POINTSMAN_SHARDS_STATEMENTS=$(STATEMENTS)) \
		$(if $(SEED),POINTSMAN_SHARDS_SEED=$(SEED)) $(if $(DIRECT),POINTSMAN_SHARDS_DIRECT=1) \
		$(CARGO) test --locked --package e2e --test shards -- --ignored --nocapture --exact on_$(or $(SERVER),mariadb)::soak

history: tools-test test-servers ## Reads of the query cache beside all kinds of writes, checked against a clock: make history READS=10000000 SERVER=mariadb
	$(CARGO) build --locked --package pointsman
	POINTSMAN_HISTORY_READS=$(or $(READS),1000000) $(CARGO) test --locked --package e2e --test history -- \
		--ignored --nocapture --exact long_on_$(or $(SERVER),mariadb)

soak-cache: tools-test test-servers ## Reads of the query cache while others write elsewhere, beside faults of servers, proxies and logs: make soak-cache SECONDS=600 SERVER=mariadb
	$(CARGO) build --locked --package pointsman
	POINTSMAN_HISTORY_SECONDS=$(or $(SECONDS),600) $(CARGO) test --locked --package e2e --test history -- \
		--ignored --nocapture --exact soak_on_$(or $(SERVER),mariadb)

soak-causal: tools-test test-servers ## Write-read pairs of users at a replica that is 50 ms late: make soak-causal PAIRS=10000 SERVER=mysql
	$(CARGO) build --locked --package pointsman
	$(if $(PAIRS),POINTSMAN_CAUSAL_PAIRS=$(PAIRS)) $(CARGO) test --locked --package e2e --test split -- \
		--ignored --nocapture --exact late::soak_on_$(or $(SERVER),mariadb)

chaos: tools-test ## Servers that are killed, frozen, cut off and promoted under writing clients, for 15 minutes: make chaos SECONDS=900
	$(CARGO) build --locked --package pointsman
	POINTSMAN_CHAOS_SECONDS=$(or $(SECONDS),900) POINTSMAN_CHAOS_ROUNDS=$(ROUNDS) $(CARGO) test --locked --package e2e --test chaos -- --ignored --nocapture soak

bench: tools-bench ## Layer-4 floor, HAProxy and Pointsman side by side; writes bench/runs/.
	$(CARGO) build --release --locked --package pointsman --package bench
	$(BUILT)/release/bench $(BENCH_ARGS)

bench-cache: tools-bench ## The query cache: with and without it, a hit beside the same bytes, and its exact modes.
	$(CARGO) build --release --locked --package pointsman --package bench
	$(BUILT)/release/bench --cache $(BENCH_ARGS)

bench-causal: tools-bench ## Reads that see writes: processor time per read, beside reads that need not.
	$(CARGO) build --release --locked --package pointsman --package bench
	$(BUILT)/release/bench --causal $(BENCH_ARGS)

bench-shards: tools-bench ## Shards: a routed point select, a merged query and a long merge over four servers.
	$(CARGO) build --release --locked --package pointsman --package bench
	$(BUILT)/release/bench --shards $(BENCH_ARGS)

icount: tools-bench ## Instructions per statement beside bench/icount.txt: make icount, or make icount BENCH_ARGS=--keep
	@sh scripts/need valgrind:valgrind
	$(CARGO) build --release --locked --package pointsman --package bench
	$(BUILT)/release/bench --icount $(BENCH_ARGS)

# Crates whose own tests are to hold every line: they need no server.
PURE = wire sql route pool cache gtid monitor

coverage: ## Lines that the tests of some crates run: make coverage CRATES="pool cache"
	@command -v cargo-llvm-cov >/dev/null || $(CARGO) install --locked --version $(CARGO_LLVM_COV_VERSION) cargo-llvm-cov
	rustup component add llvm-tools
	$(CARGO) llvm-cov --locked --summary-only $(addprefix --package ,$(or $(CRATES),$(PURE)))

mutants: ## Changes in the code that no test notices: make mutants CRATES=pool MUTANTS_ARGS="--file 'gate.rs'"
	@command -v cargo-mutants >/dev/null || $(CARGO) install --locked --version $(CARGO_MUTANTS_VERSION) cargo-mutants
	$(CARGO) mutants --output $(BUILT) $(addprefix --package ,$(or $(CRATES),pool)) $(MUTANTS_ARGS)

packages: build ## Make deb, rpm, a container image and an SBOM: target/packages.
	@CARGO="$(CARGO)" sh packaging/build

check-packages: ## Check them: units, lintian, a second build that must be equal, a trial installation (root).
	@sh packaging/check

fuzz: ## Fuzz one target for a minute, from the inputs in fuzz/corpus: make fuzz TARGET=reply SECONDS=60
	@command -v cargo-fuzz >/dev/null || $(CARGO) install --locked --version $(CARGO_FUZZ_VERSION) cargo-fuzz
	$(CARGO) fuzz run --sanitizer none $(or $(TARGET),reply) -- -max_total_time=$(or $(SECONDS),60)

tools-run:
	@sh scripts/need $(RUN_TOOLS)
tools-test:
	@sh scripts/need $(TEST_TOOLS)
tools-bench:
	@sh scripts/need $(BENCH_TOOLS)

# MariaDB's own test suite, which needs a package that brings a whole server.
.PHONY: test-mysqltest tools-mysqltest
SUITE_TOOLS = $(RUN_TOOLS) mariadb-test:mariadb-test patch:patch perl:perl

test-mysqltest: tools-mysqltest ## Run MariaDB's own test suite directly and through the proxy.
	$(CARGO) build --locked --package pointsman --package mysqltest
	$(BUILT)/debug/mysqltest $(MYSQLTEST_ARGS)
tools-mysqltest:
	@sh scripts/need $(SUITE_TOOLS)
