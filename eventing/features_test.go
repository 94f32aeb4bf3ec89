package eventing

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

// feature is a row of the specification of event functions with what shows that it is there: names
// of tests, with a slash and a case where a test has a table of them. Where we decided against a
// row, not is the sentence of docs/eventing.md that says so.
type feature struct {
	row   string
	shows []string
	not   string
}

func shown(row string, tests ...string) feature { return feature{row: row, shows: tests} }

func leftOut(row, not string) feature { return feature{row: row, not: not} }

func partly(row, not string, tests ...string) feature { return feature{row, tests, not} }

// featureTable is section 1 of the specification, row by row.
var featureTable = []feature{
	partly("1 OnUpdate", "the third parameter of `OnUpdate` is an empty object", "eventing.TestOnUpdateAndOnDelete"),
	shown("2 OnDelete", "eventing.TestOnUpdateAndOnDelete", "eventing.TestExpiry"),
	shown("3 OnDeploy", "eventing.TestOnDeploy", "eventing.TestOnDeployDecides",
		"eventing.TestOnUndeploy", "eventing.TestOnUndeployFails", "eventing.TestOnUndeployRunsOnce"),
	shown("4 timers", "eventing.TestTimers", "eventing.TestTimersRunWhileABatchIsStored",
		"js.TestEventTimers/docTimer"),
	shown("5 aliases of databases", "js.TestEventAliases", "eventing.TestRefusedWrites"),
	shown("6 advanced operations", "eventing.TestAdvancedOperations", "js.TestEventOperations",
		"js.TestEventSubdocuments"),
	shown("7 statements in the code", "eventing.TestQueries", "eventing/n1ql/script.TestScriptsRun"),
	shown("8 N1qlQuery", "js.TestEventLoops/again", "js.TestEventLoops/execQuery",
		"js.TestEventLoops/iter", "js.TestEventLoops/stopIter with a tag"),
	shown("9 N1QL()", "eventing.TestN1QLCall", "js.TestEventQueries"),
	partly("10 analytics and search", "there are no such services",
		"js.TestEventOperations/services that are not there"),
	shown("11 curl", "eventing.TestCurlOfHandlers", "js.TestEventCurl"),
	shown("12 log, crc64, base64", "js.TestEventTools"),
	shown("13 bindings", "eventing/definition.TestCases", "eventing/definition.TestAliases",
		"js.TestEventConstants"),
	shown("14 self-recursion", "eventing.TestSelfRecursion"),
	shown("15 recursion between functions", "server/functions.TestDeployChecks", "eventing/definition.TestRecursion"),
	shown("16 dcp_stream_boundary", "eventing.TestFromNow", "eventing.TestFromTime"),
	shown("17 worker_count", "eventing.TestCounterIsExact", "eventing.TestNodesShareAFunction"),
	shown("18 lifecycle", "server/functions.TestLifecycle", "eventing/definition.TestOperations"),
	shown("19 checkpoints", "eventing.TestCheckpointInterval", "eventing.TestModel", "conformance.TestCrashEvents"),
	shown("20 redistribution", "eventing.TestHandOver", "cluster/nodes.TestPlanMovesLittle"),
	shown("21 operations while functions are redistributed", "eventing.TestOperationsWhileNodesComeAndGo"),
	shown("22 debugger", "server/functions.TestDebugger"),
	shown("23 log", "eventing.TestLogOfAllNodes", "server/functions.TestAppLog"),
	shown("24 insight", "eventing.TestInsight"),
	shown("25 statistics", "eventing.TestStatsAddUp", "server/functions.TestStats"),
	shown("26 export, import, backup", "server/functions.TestExchange"),
	shown("27 headers and footers", "eventing.TestHeadersAndFooters"),
	leftOut("28 bucket_cache", "an old copy would only make handlers run again"),
	partly("29 cursor_aware", "effects and checkpoint are one transaction, which is more than cursors promise",
		"eventing.TestCounterIsExact"),
	shown("30 optional query execution", "eventing.TestOptionalQueryExecution"),
	shown("31 streaming cancellation", "js.TestEventLoops/break", "eventing/n1ql.TestStreaming"),
	shown("32 late timers, timers of before", "eventing.TestSkipTimerThreshold", "eventing.TestUndeployForgets"),
	partly("33 the future", "Functions have no JDBC and read no queues", "eventing.TestSelector", "eventing.TestRequests",
		"eventing.TestPublish"),
	partly("34 open questions", "`OnDelete` is called for documents with timers", "eventing.TestCounterIsExact"),
}

// settingsWithEffect are the settings that do something; the others say in their row why they have
// no effect.
var settingsWithEffect = []feature{
	shown("deployment_status", "server/functions.TestSettings", "server/functions.TestStoredDeployed"),
	shown("processing_status", "server/functions.TestSettings"),
	shown("dcp_stream_boundary", "eventing.TestFromNow"),
	shown("description", "eventing/definition.TestSettingsOnTheWire"),
	shown("worker_count", "eventing.TestCounterIsExact"),
	shown("execution_timeout", "eventing.TestSlowAndHostileHandlers"),
	shown("on_deploy_timeout", "eventing.TestOnDeployDecides"),
	shown("checkpoint_interval", "eventing.TestCheckpointInterval"),
	shown("language_compatibility", "eventing.TestLanguageCompatibility", "js.TestEventAliases/old delete"),
	shown("handler_headers", "eventing.TestHeadersAndFooters"),
	shown("handler_footers", "eventing.TestHeadersAndFooters"),
	shown("timer_context_size", "js.TestEventTimers/large", "eventing.TestFiredTimersLeaveNothing"),
	shown("skip_timer_threshold", "eventing.TestSkipTimerThreshold"),
	shown("curl_max_allowed_resp_size", "eventing.TestCurlOfHandlers"),
	shown("max_retries", "eventing.TestRetriesAndDeadLetters"),
	shown("dead_letter_database", "eventing.TestRetriesAndDeadLetters"),
	shown("selector", "eventing.TestSelector"),
	shown("isolate", "js.TestEventIsolate"),
	shown("hop_limit", "eventing.TestHopLimit"),
	shown("http_roles", "server/functions.TestRequestRights"),
	shown("outbox_size", "eventing.TestOutboxIsBounded"),
	shown("publish_max_attempts", "eventing.TestMessagesEnd"),
	shown("publish_max_age", "eventing.TestMessagesEnd"),
	shown("publish_concurrency", "eventing/outbox.TestCourier", "eventing.TestOutboxIsBounded",
		"conformance.TestCrashMessages"),
	shown("schedules", "eventing.TestSchedulesModel", "eventing.TestSchedulesAlone",
		"eventing/schedule.TestNextAgainstACalendar"),
}

// mappingTable is the table of section 5: how partitions, checkpoints and takeovers are made of a
// store's transactions.
var mappingTable = []feature{
	shown("5 feed", "eventing.TestFunctionsReadTogether", "eventing/feed.TestSegments", "eventing/feed.TestStreamsTellAll"),
	shown("5 checkpoint", "eventing.TestFromNow", "eventing.TestCheckpointInterval"),
	shown("5 batch", "eventing.TestHandlersRunWhileABatchIsStored", "eventing.TestBatchesSeeTheOneBefore",
		"eventing.TestTimersOverOnesThatRunAgain", "eventing.TestTooLargeFailsItsOwnEvent"),
	partly("5 long handler or curl", "A request is made once for an event, but again after a crash",
		"eventing.TestCurlOfHandlers"),
	shown("5 unknown outcome of a commit", "eventing.TestModel"),
	shown("5 lease", "eventing.TestZombie", "cluster/nodes.TestWhoWasPausedTakesNobodyForGone"),
	shown("5 handover", "eventing.TestHandOver", "eventing.TestStatisticsStay"),
	shown("5 plan", "cluster/nodes.TestSpans", "cluster/nodes.TestPlanMovesLittle"),
	shown("5 store unavailable", "eventing.TestStoreUnavailable"),
	shown("5 metadata lost", "eventing.TestProgressLost"),
	shown("5 backlog", "eventing.TestNodesShareAFunction"),
	shown("5 pause, undeploy, redeploy", "eventing.TestPauseAndResume", "eventing.TestUndeployForgets"),
	shown("5 self-recursion and lost updates", "eventing.TestSelfRecursion", "eventing.TestWriteBackLosesNoUpdate"),
	shown("5 checks of a deployment", "server/functions.TestDeployChecks"),
}

// restTable is section 2, by the paths as docs/eventing.md has them, and what its parts say of all
// requests.
var restTable = []feature{
	shown("2.1 envelope", "server/functions.TestStoreAndShow", "eventing/definition.TestErrorOnTheWire"),
	shown("2.1 codes", "eventing/definition.TestCodes", "eventing/definition.TestErrorCodes"),
	shown("2.2 function object", "eventing/definition.TestParse", "eventing/definition.TestShown"),
	shown("2.2 secrets", "eventing/definition.TestKeepSecrets", "server/functions.TestBindingsAndCode"),
	shown("2.2 enforce_schema", "eventing/definition.TestCases"),
	shown("2.3 scopes", "eventing/registry.TestScopes", "server/functions.TestExchange"),
	shown("2.3 changes by state", "eventing/definition.TestChanges", "server/functions.TestSettings"),
	shown("2.4 operations", "server/functions.TestLifecycle", "eventing/definition.TestStatuses"),
	shown("a listener of its own", "server.TestFunctionsPort"),
	shown("`/functions`", "server/functions.TestLists", "server/functions.TestDelete"),
	shown("`/functions/NAME`", "server/functions.TestStoreAndShow", "server/functions.TestDelete"),
	shown("`/functions/NAME/settings`", "server/functions.TestSettings"),
	shown("`/functions/NAME/config`", "server/functions.TestBindingsAndCode"),
	shown("`/functions/NAME/appcode`", "server/functions.TestBindingsAndCode"),
	shown("`/functions/NAME/appcode/checksum`", "server/functions.TestBindingsAndCode"),
	shown("`/functions/NAME/deploy`, `undeploy`, `pause`, `resume`", "server/functions.TestLifecycle"),
	shown("`/functions/NAME/test`", "eventing.TestTrials", "server/functions.TestStats"),
	shown("`/status`, `/status/NAME`", "server/functions.TestStatus"),
	shown("`/stats`, `/stats/NAME`", "server/functions.TestStats", "eventing.TestStatsAddUp"),
	shown("`/list/functions`, `/list/functions/query`", "server/functions.TestLists"),
	shown("`/export`", "server/functions.TestExchange"),
	shown("`/import`", "server/functions.TestExchange"),
	shown("`/backup`", "server/functions.TestExchange"),
	shown("`/config`", "server/functions.TestConfig"),
	shown("`/getErrorCodes`", "server/functions.TestConfig"),
	shown("`/getAppLog?name=NAME`", "server/functions.TestAppLog"),
	shown("`/getInsight?name=NAME`", "server/functions.TestStats", "eventing.TestInsight"),
	shown("`/getExecutionStats`, `/getLatencyStats`, `/getFailureStats`, `/getDcpEventsRemaining?name=NAME`",
		"server/functions.TestStats"),
	shown("`/resetStatsCounters?appName=NAME`", "server/functions.TestStats"),
	shown("`/_prometheusMetrics`", "server/functions.TestStats"),
	shown("`/getRebalanceStatus`, `/pools/default/tasks` and others", "server/functions.TestRebalancePaths",
		"server/functions.TestRebalanceRights", "eventing.TestDividedAs"),
	shown("`/startDebugger`, `/getDebuggerUrl`, `/stopDebugger`", "server/functions.TestDebugger"),
	shown("`/functions/NAME/debugger/start`, `url`, `stop`", "server/functions.TestDebugger", "eventing.TestDebugger",
		"cmd/settee.TestNodesShareDebugSessions"),
	shown("`/functions/NAME/debugger`", "server/functions.TestDebugger"),
	shown("`/functions/NAME/dead_letters` and below", "server/functions.TestDeadLetters", "eventing.TestMessagesEnd"),
}

// loopTable is section 6.3, row by row, with the cases of one test.
var loopTable = []feature{
	loop("break", "break"), loop("continue", "continue"), loop("normal end", "end"),
	loop("break to an outer loop that is no query's", "break to a plain loop"),
	loop("nested queries, break to the outermost", "nested", "break through queries"),
	loop("continue of the outer query", "continue of the outer query"),
	loop("ordinary loop inside the body", "plain loops inside"), loop("return", "return"),
	loop("throw caught outside, caught inside", "throw caught outside", "throw caught inside"),
	loop("uncaught throw, throw in a callee, runtime error", "uncaught", "throw in a callee", "runtime error"),
	loop("finally around and inside", "finally"),
	loop("destructuring, spread, generator", "destructuring", "spread", "generator"),
	loop("error of next()", "error of next"),
	leftOut("6.3 return() throws", "To end a query early cannot fail"),
	shown("6.3 timeout", "js.TestEventLoopTimeout"),
	loop("no query", "plain iterables"),
}

func loop(row string, cases ...string) feature {
	f := feature{row: "6.3 " + row}
	for _, c := range cases {
		f.shows = append(f.shows, "js.TestEventLoops/"+c)
	}
	return f
}

// complaints are section 7: what users of Couchbase Eventing suffer from.
var complaints = []feature{
	shown("7.1 no retries, no dead letters", "eventing.TestRetriesAndDeadLetters",
		"eventing.TestFailedHandlerLeavesNothing"),
	shown("7.2 late timers that block each other", "eventing.TestTimers", "eventing.TestTimersDoNotBlock",
		"eventing.TestFiredTimersLeaveNothing"),
	shown("7.3 slow lifecycle", "eventing.TestUndeployForgets", "eventing/registry.TestLife"),
	partly("7.4 no old value", "A handler does not get the document as it was before", "eventing.TestOnUpdateAndOnDelete"),
	partly("7.5 metadata bucket", "progress and timers are out of sight, where nobody deletes them",
		"eventing/definition.TestParse", "eventing.TestUndeployForgets"),
	shown("7.6 query handles leak", "js.TestEventLoops/left open", "js.TestEventQueryErrors"),
	shown("7.7 false hits of the parser", "eventing/n1ql/script.TestRecognition",
		"eventing/n1ql/script.TestTranspileErrors"),
	shown("7.8 logs without context", "server/functions.TestAppLog", "eventing.TestLogOfAllNodes"),
	shown("7.9 timeouts of the store", "eventing.TestStoreUnavailable"),
	partly("7.10 a slow handler stalls others", "A slow handler holds up all documents of its worker",
		"eventing.TestSlowHandlerAmongWorkers"),
	partly("7.11 no libraries, no unit tests", "Functions share no code", "eventing.TestTrials"),
	shown("7.12 blanket ban of rewrites", "eventing.TestHopLimit", "server/functions.TestDeployChecks"),
	leftOut("7.13 worker_count by hand", "Nobody but `worker_count` says how many workers a function has"),
	shown("7.14 untidy API", "server/functions.TestWait", "eventing/definition.TestOperations"),
	shown("7.15 failover repeats events", "eventing.TestNodeDies", "eventing.TestZombie"),
}

// TestFeatures: each row of the specification has tests that are there, or a sentence in
// docs/eventing.md that says why not.
func TestFeatures(t *testing.T) {
	document, err := os.ReadFile("../docs/eventing.md")
	require.NoError(t, err)
	text := strings.Join(strings.Fields(string(document)), " ")
	tests := testsBelow(t, "..")
	missing := func(f feature) (list []string) {
		for _, name := range f.shows {
			test, one, _ := strings.Cut(name[strings.LastIndexByte(name, '.'):], "/")
			test = name[:strings.LastIndexByte(name, '.')] + test
			if body := tests[test]; body == nil || one != "" && !slices.Contains(literals(body), one) {
				list = append(list, name)
			}
		}
		return list
	}
	rows := make(map[string]bool)
	for _, f := range slices.Concat(
		featureTable, settingsWithEffect, mappingTable, restTable, loopTable, complaints,
	) {
		require.False(t, rows[f.row], "%s stands twice", f.row)
		rows[f.row] = true
		require.True(t, len(f.shows) > 0 || f.not != "", "%s has neither tests nor a reason", f.row)
		require.Empty(t, missing(f), "tests of %s are not there", f.row)
		require.Contains(t, text, f.not, "docs/eventing.md does not say it: %s", f.row)
	}
	for section, count := range map[string]int{"": 34, "7.": 15} {
		for n := range count {
			begins := func(row string) bool { return strings.HasPrefix(row, section+strconv.Itoa(n+1)+" ") }
			require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(rows)), begins), "row %s%d", section, n+1)
		}
	}
	for _, s := range definition.SettingTable {
		require.True(t, rows[s.Name] != strings.Contains(strings.ToLower(s.Doc), "no effect"),
			"%s has a test, or says why it has no effect", s.Name)
	}
	_, paths, _ := strings.Cut(string(document), "\n| path | method | |\n")
	paths, _, _ = strings.Cut(paths, "\n\n")
	for _, path := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(paths, -1) {
		require.True(t, rows[path[1]], "%s has no tests", path[1])
	}
	require.Contains(t, paths, "`/functions/NAME/test`")
}

// TestDesignDocument: each heading and item of the design document has its row in docs/eventing.md, which
// says what there is or why not, and no row is of nothing.
func TestDesignDocument(t *testing.T) {
	document, err := os.ReadFile("../docs/eventing.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(document), "### The design document of 2017, heading by heading\n\n| heading | here |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	answered := make(map[string]bool)
	for line := range strings.Lines(table) {
		cells := strings.SplitN(strings.Trim(line, "| \n"), " | ", 2)
		require.Len(t, cells, 2, line)
		require.NotContains(t, answered, cells[0], "it stands twice")
		require.NotEmpty(t, cells[1], "%s has no answer", cells[0])
		answered[cells[0]] = false
	}
	items, err := os.ReadFile("testdata/design-document.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(items)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		item, row, ok := strings.Cut(strings.TrimSpace(line), " = ")
		require.True(t, ok, line)
		require.Contains(t, answered, row, "docs/eventing.md has no row for %s", item)
		answered[row] = true
	}
	require.GreaterOrEqual(t, len(answered), 30)
	for row, asked := range answered {
		require.True(t, asked, "nothing of the design document is answered by %q", row)
	}
}

// testsBelow are the tests of a tree, by "package.Test".
func testsBelow(t *testing.T, root string) map[string]*ast.FuncDecl {
	t.Helper()
	tests := make(map[string]*ast.FuncDecl)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if name := filepath.Base(path); name == "node_modules" || name == "testdata" || name == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				tests[filepath.ToSlash(dir)+"."+f.Name.Name] = f
			}
		}
		return err
	})
	require.NoError(t, err)
	return tests
}

// literals are the texts in a function.
func literals(f *ast.FuncDecl) (list []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil {
				list = append(list, s)
			}
		}
		return true
	})
	return list
}
