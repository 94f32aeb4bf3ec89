package definition

import "encoding/json"

// Config is what holds for all functions of a server.
type Config struct {
	// EnableCurl and DisableCurlBinding: whether functions with URL bindings may be deployed.
	EnableCurl         bool `json:"enable_curl"`
	DisableCurlBinding bool `json:"disable_curl_binding"`
	// FunctionSize is how many bytes of code a function may have.
	FunctionSize int64 `json:"function_size"`
	// AllowRecursion lifts the checks of CheckRecursion.
	AllowRecursion bool `json:"allow_interbucket_recursion"`
	// EnableDebugger: whether server admins may debug functions.
	EnableDebugger bool `json:"enable_debugger"`

	// What follows is kept for clients that ask, and has no effect: workers share the memory that
	// the server gives them, requests of functions have their own times, lifecycle operations and
	// redistribution do not exclude each other, there are no cursors, and nodes find each other.

	RAMQuota          int64  `json:"ram_quota"`
	RequestTimeout    int64  `json:"http_request_timeout"`
	OpsWhileRebalance bool   `json:"enable_lifecycle_ops_during_rebalance"`
	DeploymentMode    string `json:"deployment_mode"`
	CursorLimit       int64  `json:"cursor_limit"`
	NodesRunning      int64  `json:"num_nodes_running"`
}

// DefaultConfig is that of a server where nobody has set anything.
func DefaultConfig() Config {
	return Config{
		EnableCurl: true, RAMQuota: 60, FunctionSize: DefaultCodeSize, RequestTimeout: 10_000_000_000,
		DeploymentMode: "hybrid_mode", CursorLimit: 5, NodesRunning: -1,
	}
}

// MostCodeSize bounds Config.FunctionSize: two versions of a function are written in one
// transaction.
const MostCodeSize = 1 << 20

// Merge takes over the members of a JSON object; names of no member are passed over. Nothing is
// changed where it fails.
func (c *Config) Merge(object []byte) error {
	merged := *c
	if err := json.Unmarshal(object, &merged); err != nil {
		return Errorf(CodeInvalidConfig, "the configuration cannot be read: %v", err)
	}
	switch {
	case merged.FunctionSize < 1 || merged.FunctionSize > MostCodeSize:
		return Errorf(CodeInvalidConfig, "function_size must be from 1 to %d", MostCodeSize)
	case merged.RAMQuota < 1:
		return Errorf(CodeInvalidConfig, "ram_quota must be at least 1")
	case merged.CursorLimit < 0:
		return Errorf(CodeInvalidConfig, "cursor_limit must not be negative")
	}
	*c = merged
	return nil
}

// CheckCurl refuses a function with URL bindings where the configuration does not allow them.
func (c *Config) CheckCurl(f *Function) error {
	if len(f.Bindings.Curl) > 0 && (!c.EnableCurl || c.DisableCurlBinding) {
		return Errorf(CodeInvalidConfig, "Function: %s has URL bindings, which enable_curl or disable_curl_binding "+
			"do not allow", f.Name)
	}
	return nil
}
