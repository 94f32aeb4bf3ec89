package definition

// Compiled is what is known of code that could run.
type Compiled struct {
	Warnings []string
	// Queries are the databases that statements in the code write to.
	Queries []string
}

// Detail is how much of the statistics is wanted.
type Detail uint8

// The details, each with all before it.
const (
	Usual Detail = iota
	Full         // histograms
	Debug        // what helps to understand the engine
)

// Stats are the statistics of a function. Maps that are nil are shown as empty ones.
type Stats struct {
	Execution       map[string]any   `json:"execution_stats"`
	Failure         map[string]any   `json:"failure_stats"`
	EventProcessing map[string]any   `json:"event_processing_stats"`
	StoreExceptions map[string]int64 `json:"lcb_exception_stats"`
	Backlog         int64            `json:"-"`                        // events not yet processed
	Percentiles     map[string]int64 `json:"latency_percentile_stats"` // microseconds
	WorkerPIDs      map[string]int64 `json:"worker_pids"`
	// Distribution names the partitions of each worker.
	Distribution map[string]any `json:"internal_vb_distribution_stats"`
	// Latency and CurlLatency count invocations and requests by microseconds, from Full on.
	Latency     map[string]int64 `json:"latency_stats,omitempty"`
	CurlLatency map[string]int64 `json:"curl_latency_stats,omitempty"`
	// Internal is the engine's own, in Debug.
	Internal map[string]any `json:"debug_stats,omitempty"`
}

// Shares tell how the partitions of a function are divided between processes: Owned are those that
// a living process works on, Planned those whose owner is the one that they are to have, ByNode how
// many each process works on, and Changing how many processes have some to take or to give.
// Partitions move while Owned or Planned are less than All.
type Shares struct {
	All      int            `json:"all"`
	Owned    int            `json:"owned"`
	Planned  int            `json:"planned"`
	ByNode   map[string]int `json:"by_node"`
	Changing int            `json:"changing_nodes"`
}

// Insight is what the lines of a function's code did.
type Insight struct {
	Script string              `json:"script"`
	Lines  map[int]InsightLine `json:"lines"`
}

// InsightLine is what one line did.
type InsightLine struct {
	CallCount    int64   `json:"call_count"`
	CallTime     float64 `json:"call_time"` // seconds
	ErrorCount   int64   `json:"error_count"`
	ErrorMessage string  `json:"error_msg"`
	LastLog      string  `json:"last_log"`
}
