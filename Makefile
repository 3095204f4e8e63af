# One non-recursive makefile. `make help` lists what a person would type.
#
#   BUILD=dir     where everything goes (default build)
#   SAN=address   AddressSanitizer and UndefinedBehaviorSanitizer;  SAN=thread  ThreadSanitizer
#   FAULTS=1      compiles in the named fault points of base/fault.h
#   V=1           shows the commands

BUILD ?= build
CC ?= gcc
SAN ?=
FAULTS ?=
ifeq ($(V),)
Q := @
say = @printf '  %-7s %s\n' $(1) $(2)
endif

CFLAGS ?= -O2 -g
CFLAGS_ALL := -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla -fno-common -fstack-protector-strong -pthread \
	-I. -I$(BUILD)/gen -MMD -MP $(CFLAGS)
LDFLAGS_ALL := -pthread -Wl,--as-needed -Wl,-z,relro,-z,now $(LDFLAGS)
ifeq ($(SAN),address)
CFLAGS_ALL += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS_ALL += -fsanitize=address,undefined
endif
ifeq ($(SAN),thread)
CFLAGS_ALL += -fsanitize=thread -fno-omit-frame-pointer
LDFLAGS_ALL += -fsanitize=thread
endif
ifneq ($(FAULTS),)
CFLAGS_ALL += -DSYMBOLIZER_FAULTS
endif

# --- modules: one static library per folder ------------------------------------------------------

MODULES := base debuginfo symbolizer/index symbolizer/protocol symbolizer/build cache ingest rpc \
	api policy cli
MAINS := api/symbolizerd.c symbolizer/build/symbolizer-worker.c cli/symbolize.c \
	cli/symbolize-remote.c
MAINS := $(wildcard $(MAINS))

module_sources = $(filter-out $(MAINS),$(wildcard $(1)/*.c))
module_library = $(BUILD)/lib/$(subst /,-,$(1)).a
libraries = $(foreach module,$(1),$(call module_library,$(module)))

PROTOS := $(wildcard rpc/proto/*.proto)
GENERATED := $(patsubst rpc/proto/%.proto,$(BUILD)/gen/rpc/proto/%.pb-c.c,$(PROTOS))

define MODULE_RULE
$(call module_library,$(1)): $$(patsubst %.c,$(BUILD)/obj/%.o,$$(call module_sources,$(1))) \
		$$(if $$(filter rpc,$(1)),$$(GENERATED:.c=.o))
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
endef
$(foreach module,$(MODULES),$(eval $(call MODULE_RULE,$(module))))

$(BUILD)/obj/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

$(BUILD)/gen/%.pb-c.c $(BUILD)/gen/%.pb-c.h: %.proto
	$(call say,PROTO,$<)
	@mkdir -p $(@D)
	$(Q)protoc-c --c_out=$(BUILD)/gen $<

# The descriptors of all of them, as the inside of a C array.
DESCRIPTORS := $(BUILD)/gen/rpc/proto/descriptors.inc
$(DESCRIPTORS): $(PROTOS)
	$(call say,PROTO,$@)
	@mkdir -p $(@D)
	$(Q)protoc-c -Irpc/proto --descriptor_set_out=$(@:.inc=.binpb) $^
	$(Q)od -An -v -tu1 $(@:.inc=.binpb) | sed 's/[0-9][0-9]*/&,/g' > $@.new && mv $@.new $@
$(BUILD)/obj/api/descriptor_files.o: $(DESCRIPTORS)

$(BUILD)/gen/%.o: $(BUILD)/gen/%.c
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

$(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard rpc/*.c api/*.c cli/*.c tests/unit/*.c tests/fuzz/*.c)): | $(GENERATED)

# --- programs ------------------------------------------------------------------------------------

SERVER_MODULES := api ingest rpc policy cache symbolizer/protocol symbolizer/index base
WORKER_MODULES := symbolizer/build symbolizer/protocol symbolizer/index debuginfo base
CLI_MODULES := cli symbolizer/build symbolizer/protocol symbolizer/index debuginfo base
REMOTE_MODULES := cli rpc symbolizer/protocol symbolizer/index debuginfo base

SERVER_LIBS := -lmicrohttpd -lgnutls -lnghttp2 -lprotobuf-c -ljansson -lsqlite3 -lyaml -lzstd -liberty -lz \
	-lnettle
WORKER_LIBS := -ldw -lelf -ldeflate -lzstd -llzma -liberty -lz -lnettle
CLI_LIBS := $(WORKER_LIBS) -ljansson
REMOTE_LIBS := -lcurl -lgnutls -lnghttp2 -lprotobuf-c -lelf -ldeflate -lzstd -llzma -liberty -lnettle -ljansson
ALL_LIBS := -lcurl -lmicrohttpd -lgnutls -lnghttp2 -lprotobuf-c -ljansson -lsqlite3 -lyaml $(WORKER_LIBS)

# $(1): program, $(2): its main, $(3): modules, $(4): libraries
define PROGRAM_RULE
PROGRAMS += $$(BUILD)/$(1)
$$(BUILD)/$(1): $$(BUILD)/obj/$(2:.c=.o) $$(call libraries,$(3))
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(LDFLAGS_ALL) -o $$@ $$< -Wl,--start-group $$(call libraries,$(3)) \
		-Wl,--end-group $(4)
endef
program = $(if $(wildcard $(2)),$(eval $(call PROGRAM_RULE,$(1),$(2),$(3),$(4))))
PROGRAMS :=
$(call program,symbolizerd,api/symbolizerd.c,$(SERVER_MODULES),$(SERVER_LIBS))
$(call program,symbolizer-worker,symbolizer/build/symbolizer-worker.c,$(WORKER_MODULES),$(WORKER_LIBS))
$(call program,symbolize,cli/symbolize.c,$(CLI_MODULES),$(CLI_LIBS))
$(call program,symbolize-remote,cli/symbolize-remote.c,$(REMOTE_MODULES),$(REMOTE_LIBS))

.DEFAULT_GOAL := all
.PHONY: all
all: $(PROGRAMS) ## build the programs into build/

# --- tests ---------------------------------------------------------------------------------------

UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))
FUZZ_REPLAYS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
TEST_SCRIPTS := $(filter-out tests/slow/%,$(wildcard tests/*/*.t))
TEST_SUPPORT := $(patsubst tests/support/%.c,$(BUILD)/obj/tests/support/%.o,$(wildcard tests/support/*.c))

.SECONDARY:
$(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(TEST_SUPPORT) $(call libraries,$(MODULES))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(TEST_SUPPORT) -Wl,--start-group \
		$(call libraries,$(MODULES)) -Wl,--end-group $(ALL_LIBS) -lcmocka

# A program that only tests run: it asks a part of ours that no program of ours shows.
TEST_DRIVERS := $(patsubst tests/drivers/%.c,$(BUILD)/drivers/%,$(wildcard tests/drivers/*.c))

$(BUILD)/drivers/%: $(BUILD)/obj/tests/drivers/%.o $(TEST_SUPPORT) $(call libraries,$(MODULES))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(TEST_SUPPORT) -Wl,--start-group \
		$(call libraries,$(MODULES)) -Wl,--end-group $(ALL_LIBS) -lcmocka

# A program that only bench/run starts: how fast a part of ours is by itself.
BENCH_DRIVERS := $(patsubst bench/%.c,$(BUILD)/bench/%,$(wildcard bench/*.c))

$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(call libraries,symbolizer/index base)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< -Wl,--start-group $(call libraries,symbolizer/index base) \
		-Wl,--end-group -liberty -lz -lnettle

# A fuzz target as a plain program: it runs its function over the files it is given.
$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/obj/tests/fuzz/replay.o $(TEST_SUPPORT) \
		$(call libraries,$(MODULES))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(BUILD)/obj/tests/fuzz/replay.o $(TEST_SUPPORT) \
		-Wl,--start-group $(call libraries,$(MODULES)) -Wl,--end-group $(ALL_LIBS) -lcmocka

.PHONY: tests unit-tests faults unit test
unit-tests: $(UNIT_TESTS)
tests: all unit-tests $(TEST_DRIVERS) $(FUZZ_REPLAYS)

# The programs once more, with fault points: what the kill tests run.
faults:
	$(Q)+$(MAKE) --no-print-directory BUILD=$(BUILD)/faults FAULTS=1 all

unit: tests
	$(Q)tests/run $(UNIT_TESTS)

test: deps tests faults ## install what is missing, build, run all quick tests
	$(Q)BUILD=$(abspath $(BUILD)) tests/run $(if $(TALLY),--tally=$(TALLY)) $(UNIT_TESTS) $(TEST_SCRIPTS)

# --- the rest ------------------------------------------------------------------------------------

.PHONY: deps demo bench lint format clean help
deps: ## install the Debian packages that are missing (apt; root or sudo)
	@scripts/deps

demo: deps all ## start the service, upload a real binary, resolve real addresses
	$(Q)BUILD=$(abspath $(BUILD)) scripts/demo

bench: deps all $(BENCH_DRIVERS) ## ours beside the peers, with the ratios
	$(Q)BUILD=$(abspath $(BUILD)) bench/run

lint: ## include directions, formatting, clang-tidy
	$(Q)scripts/lint

format: ## apply .clang-format
	$(Q)git ls-files '*.c' '*.h' ':!tests/fixtures' | xargs clang-format -i

clean: ## remove build/
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

-include $(shell find $(BUILD) -path $(BUILD)/faults -prune -o -name '*.d' -print 2>/dev/null)
