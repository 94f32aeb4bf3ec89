package definition

import (
	"bytes"
	"encoding/json"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/schedule"
)

// Settings are how a function runs. The table below says of each what it is called, its bounds, and
// when it may change.
type Settings struct {
	// Deployment and Processing are deployment_status and processing_status: what state was asked
	// for. The state that a function is in is not theirs to tell.
	Deployment, Processing bool

	Boundary            string // everything, or from_now
	WorkerCount         int64
	WorkerThreads       int64
	ExecutionTimeout    int64 // seconds
	OnDeployTimeout     int64 // seconds
	CheckpointInterval  int64 // seconds
	LogLevel            string
	Description         string
	TimerContextSize    int64 // bytes
	TimerPartitions     int64
	SkipTimerThreshold  int64 // seconds; 0: none is skipped
	CleanupTimers       bool
	Compatibility       string // language_compatibility
	Consistency         string // n1ql_consistency: none or request
	PrepareAll          bool
	MaxQueries          int64 // lcb_inst_capacity: open at a time in a worker
	RetryCount          int64
	StoreTimeout        int64 // lcb_timeout, seconds
	MaxCurlResponse     int64 // megabytes; 0: unbounded
	CacheSize           int64 // bytes
	CacheAge            int64 // milliseconds
	AppLogDir           string
	AppLogMaxSize       int64 // bytes
	AppLogMaxFiles      int64
	AppLogRotation      bool
	TickDuration        int64 // milliseconds
	UserPrefix          string
	Headers, Footers    []string // lines before and after the code
	CursorAware         bool
	SyncDocuments       bool
	TransactionMutation bool

	// What Couchbase does not have.

	MaxRetries   int64
	DeadLetters  string          // database, "" for none
	Selector     json.RawMessage // of Mango, an object; nil: all documents
	Isolate      string          // worker, or invocation
	HopLimit     int64
	Backtracking bool // allow_backtracking_regex
	Schedules    schedule.List
	HTTPRoles    []string // http_roles: who may make requests to the function

	OutboxSize         int64 // megabytes
	PublishAttempts    int64 // publish_max_attempts
	PublishMaxAge      int64 // seconds
	PublishConcurrency int64

	unknown []string // names that were sent and are of no setting, for Warnings; they are not stored
}

// The values of language_compatibility. What a missing one means depends on where a function comes
// from: a new one has the newest, an imported one the oldest.
const (
	NewestLanguage = "7.2.0"
	OldestLanguage = "6.0.0"
)

// The values of dcp_stream_boundary.
const (
	Everything = "everything"
	FromNow    = "from_now"
)

// The values of isolate.
const (
	IsolateWorker     = "worker"
	IsolateInvocation = "invocation"
)

// DefaultSettings are those of a function that sets none.
func DefaultSettings() Settings {
	return Settings{
		Boundary: Everything, WorkerCount: 1, WorkerThreads: 2, ExecutionTimeout: 60, OnDeployTimeout: 60,
		CheckpointInterval: 60, LogLevel: "INFO", TimerContextSize: 1024, TimerPartitions: 1024,
		Compatibility: NewestLanguage, Consistency: "none", MaxQueries: 10, StoreTimeout: 5, MaxCurlResponse: 100,
		CacheSize: 64 << 20, CacheAge: 1000, AppLogMaxSize: 40 << 20, AppLogMaxFiles: 10, AppLogRotation: true,
		TickDuration: 60_000, UserPrefix: "eventing", Headers: []string{"'use strict';"}, Footers: []string{},
		SyncDocuments: true, Isolate: IsolateWorker, HopLimit: 16,
		Schedules: schedule.List{}, HTTPRoles: []string{"_admin"},
		OutboxSize: 64, PublishAttempts: 20, PublishMaxAge: 86_400, PublishConcurrency: 4,
	}
}

// Checkpoints is how much time passes between checkpoints of events without effects. Exports of
// servers before version 8 have milliseconds.
func (s *Settings) Checkpoints() time.Duration {
	if s.CheckpointInterval >= 1000 {
		return time.Duration(s.CheckpointInterval) * time.Millisecond
	}
	return time.Duration(s.CheckpointInterval) * time.Second
}

// change is in which states a setting may change.
type change uint8

const (
	whilePaused     change = iota // and while undeployed
	whileDeployed                 // always
	whileUndeployed               // only then
	byOperations                  // they tell the state
)

// SettingRow is one row of the table of settings.
type SettingRow struct {
	Name  string
	field func(*Settings) any // a pointer to it
	// Min and Max bound numbers.
	Min, Max int64
	Values   []string // those of a text, nil: any
	change   change
	// Doc says what it does, and of one without effect why it has none.
	Doc string
}

const anyNumber = math.MaxInt32

// SettingTable is all settings, in the order of the documentation.
var SettingTable = []SettingRow{
	{Name: "deployment_status", field: func(s *Settings) any { return &s.Deployment }, change: byOperations,
		Doc: "With processing_status the state: false and false undeployed, true and false paused, true and true " +
			"deployed. To change it is to ask for the operation."},
	{Name: "processing_status", field: func(s *Settings) any { return &s.Processing }, change: byOperations,
		Doc: "See deployment_status."},
	{Name: "dcp_stream_boundary", field: func(s *Settings) any { return &s.Boundary },
		Values: []string{Everything, FromNow}, change: whileUndeployed,
		Doc: "Whether a deployed function begins with all documents, or with what changes after the request that " +
			"deploys it. A time as `2026-11-27T12:00:00Z` begins with what has changed since then."},
	{Name: "description", field: func(s *Settings) any { return &s.Description }, change: whileDeployed,
		Doc: "A text for people."},
	{Name: "log_level", field: func(s *Settings) any { return &s.LogLevel },
		Values: []string{"INFO", "ERROR", "WARNING", "DEBUG", "TRACE"}, change: whileDeployed,
		Doc: "No effect: the function's own log has all lines, the server's what concerns the server."},
	{Name: "worker_count", field: func(s *Settings) any { return &s.WorkerCount }, Min: 1, Max: 64,
		Doc: "Workers of the function on each node."},
	{Name: "cpp_worker_thread_count", field: func(s *Settings) any { return &s.WorkerThreads }, Min: 1, Max: anyNumber,
		Doc: "No effect: a worker runs one invocation at a time; worker_count says how many there are."},
	{Name: "execution_timeout", field: func(s *Settings) any { return &s.ExecutionTimeout }, Min: 1, Max: 86_400,
		Doc: "Seconds that one invocation may take, all of its waiting included."},
	{Name: "on_deploy_timeout", field: func(s *Settings) any { return &s.OnDeployTimeout }, Min: 1, Max: 86_400,
		Doc: "Seconds that OnDeploy or OnUndeploy may take."},
	{Name: "checkpoint_interval", field: func(s *Settings) any { return &s.CheckpointInterval }, Min: 1,
		Max: anyNumber,
		Doc: "Seconds after which it is stored how far events without effects have come; effects store it " +
			"themselves. From 1000 on milliseconds, which they were before version 8."},
	{Name: "language_compatibility", field: func(s *Settings) any { return &s.Compatibility },
		Values: []string{OldestLanguage, "6.5.0", "6.6.2", NewestLanguage},
		Doc: "Which version's behaviour the code was written for: before 6.5.0 reading a missing document throws, " +
			"before 6.6.2 binary documents are not shown. Where it is missing, a new function has 7.2.0, an imported " +
			"one 6.0.0."},
	{Name: "handler_headers", field: func(s *Settings) any { return &s.Headers }, Doc: "Lines before the code."},
	{Name: "handler_footers", field: func(s *Settings) any { return &s.Footers }, Doc: "Lines after the code."},
	{Name: "timer_context_size", field: func(s *Settings) any { return &s.TimerContextSize }, Min: 20,
		Max: 20 << 20, change: whileDeployed, Doc: "Most bytes of a timer's context, as JSON."},
	{Name: "num_timer_partitions", field: func(s *Settings) any { return &s.TimerPartitions }, Min: 1, Max: 1 << 16,
		change: whileUndeployed,
		Doc:    "Rounded up to a power of two; no effect: timers are one list in the order of time."},
	{Name: "skip_timer_threshold", field: func(s *Settings) any { return &s.SkipTimerThreshold }, Max: math.MaxInt32,
		Doc: "Timers that are later than this many seconds are dropped and counted; 0 drops none."},
	{Name: "cleanup_timers", field: func(s *Settings) any { return &s.CleanupTimers },
		Doc: "No effect: a function that is deployed anew never has timers of before."},
	{Name: "n1ql_consistency", field: func(s *Settings) any { return &s.Consistency },
		Values: []string{"none", "request"},
		Doc:    "No effect: indexes have all changes."},
	{Name: "n1ql_prepare_all", field: func(s *Settings) any { return &s.PrepareAll },
		Doc: "No effect: statements are parsed once, when the code is compiled."},
	{Name: "lcb_inst_capacity", field: func(s *Settings) any { return &s.MaxQueries }, Min: 1, Max: 1000,
		Doc: "No effect: an invocation may have ten queries open."},
	{Name: "lcb_retry_count", field: func(s *Settings) any { return &s.RetryCount }, Max: anyNumber,
		Doc: "No effect: operations fail when the store does, and transactions are repeated by themselves."},
	{Name: "lcb_timeout", field: func(s *Settings) any { return &s.StoreTimeout }, Min: 1, Max: 86_400,
		Doc: "No effect: reads of the store have what is left of execution_timeout."},
	{Name: "curl_max_allowed_resp_size", field: func(s *Settings) any { return &s.MaxCurlResponse }, Max: anyNumber,
		Doc: "Most megabytes of an answer to curl, 0 for as much as the memory of a worker allows."},
	{Name: "bucket_cache_size", field: func(s *Settings) any { return &s.CacheSize }, Min: 20 << 20,
		Max: math.MaxInt64,
		Doc: "No effect: what is read is verified when effects are stored, so that an old copy would only make " +
			"handlers run again."},
	{Name: "bucket_cache_age", field: func(s *Settings) any { return &s.CacheAge }, Min: 1, Max: anyNumber,
		Doc: "No effect, as bucket_cache_size."},
	{Name: "app_log_dir", field: func(s *Settings) any { return &s.AppLogDir }, change: whileUndeployed,
		Doc: "No effect: the server knows where it may write."},
	{Name: "app_log_max_size", field: func(s *Settings) any { return &s.AppLogMaxSize }, Min: 1024,
		Max: math.MaxInt64, Doc: "No effect: the last 640 pieces of the function's log are kept, of at most 64 KB each."},
	{Name: "app_log_max_files", field: func(s *Settings) any { return &s.AppLogMaxFiles }, Min: 1, Max: 1000,
		Doc: "No effect, as app_log_max_size."},
	{Name: "enable_applog_rotation", field: func(s *Settings) any { return &s.AppLogRotation },
		Doc: "No effect: logs always rotate."},
	{Name: "tick_duration", field: func(s *Settings) any { return &s.TickDuration }, Min: 1, Max: anyNumber,
		Doc: "No effect: statistics are counted, not sampled."},
	{Name: "user_prefix", field: func(s *Settings) any { return &s.UserPrefix },
		Doc: "No effect: a function keeps no documents of its own that would need names."},
	{Name: "cursor_aware", field: func(s *Settings) any { return &s.CursorAware },
		Doc: "No effect: effects and checkpoint are one transaction, which is more than cursors promise."},
	{Name: "allow_sync_documents", field: func(s *Settings) any { return &s.SyncDocuments },
		Doc: "No effect: mobile sync keeps nothing in documents here."},
	{Name: "allow_transaction_mutations", field: func(s *Settings) any { return &s.TransactionMutation },
		Doc: "No effect: transactions leave no traces in documents."},

	{Name: "max_retries", field: func(s *Settings) any { return &s.MaxRetries }, Max: 1000,
		Doc: "Not in Couchbase: how often an event whose handler failed is tried again, with growing pauses."},
	{Name: "dead_letter_database", field: func(s *Settings) any { return &s.DeadLetters },
		Doc: "Not in Couchbase: database that gets a document with event and error for each event that failed in the " +
			"end. Empty: they are only counted and logged."},
	{Name: "selector", field: func(s *Settings) any { return &s.Selector },
		Doc: "Not in Couchbase: a Mango selector. Documents that do not match it do not reach the handler."},
	{Name: "isolate", field: func(s *Settings) any { return &s.Isolate },
		Values: []string{IsolateWorker, IsolateInvocation},
		Doc: "Not in Couchbase: worker lets invocations follow each other in one realm, invocation gives each its " +
			"own."},
	{Name: "hop_limit", field: func(s *Settings) any { return &s.HopLimit }, Min: 1, Max: 1000,
		Doc: "Not in Couchbase: a change that functions made of each other's changes so many times in a row does not " +
			"trigger the function."},
	{Name: "allow_backtracking_regex", field: func(s *Settings) any { return &s.Backtracking },
		Doc: "No effect: such expressions may be used, and a worker that does not come back from one is killed a second " +
			"after execution_timeout."},
	{Name: "schedules", field: func(s *Settings) any { return &s.Schedules },
		Doc: "Not in Couchbase: [functions of the code that are called by the clock](#schedules)."},
	{Name: "http_roles", field: func(s *Settings) any { return &s.HTTPRoles },
		Doc: "Not in Couchbase: who may make requests to [OnRequest](#http-requests): users with one of these roles; " +
			"`_authenticated` is everybody with a name, `_anonymous` everybody."},
	{Name: "outbox_size", field: func(s *Settings) any { return &s.OutboxSize }, Min: 1, Max: 100_000,
		Doc: "Not in Couchbase: megabytes that [messages](#publishing) may have which are not delivered, dead letters " +
			"included. Events wait while there is no room."},
	{Name: "publish_max_attempts", field: func(s *Settings) any { return &s.PublishAttempts }, Min: 1, Max: 1000,
		Doc: "Not in Couchbase: how often it is tried to deliver a message before it is a dead letter."},
	{Name: "publish_max_age", field: func(s *Settings) any { return &s.PublishMaxAge }, Min: 1, Max: 365 * 86_400,
		Doc: "Not in Couchbase: seconds for which it is tried to deliver a message before it is a dead letter."},
	{Name: "publish_concurrency", field: func(s *Settings) any { return &s.PublishConcurrency }, Min: 1, Max: 16,
		Doc: "Not in Couchbase: messages that a process delivers to one destination at a time."},
}

func settingRow(name string) *SettingRow {
	if i := slices.IndexFunc(SettingTable, func(r SettingRow) bool { return r.Name == name }); i >= 0 {
		return &SettingTable[i]
	}
	return nil
}

// oldTimeout is the name that execution_timeout had first, in milliseconds. It is refused: a function that
// asks for it must not run with another one.
const oldTimeout = "function_timeout"

// Merge takes over the members of a JSON object. Names that no setting has are passed over, and told by
// Warnings, unless strict. Nothing is changed where it fails.
func (s *Settings) Merge(object json.RawMessage, strict bool) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil || members == nil {
		return Errorf(CodeUnmarshal, "settings must be an object")
	}
	merged := s.clone()
	for name, value := range members {
		row := settingRow(name)
		if row == nil {
			if strict {
				return Errorf(CodeInvalidConfig, "settings: there is no setting %q", name)
			}
			if name == oldTimeout {
				return Errorf(CodeInvalidConfig, "settings: %s is execution_timeout now, in seconds", name)
			}
			merged.unknown = append(merged.unknown, name)
			continue
		}
		if err := row.set(&merged, value); err != nil {
			return err
		}
	}
	*s = merged
	return nil
}

// Warnings name the settings that differ from the default and have no effect, and names of no setting.
func (s *Settings) Warnings() (list []string) {
	list = notStored("setting", s.unknown, func(name string) string {
		if strings.HasPrefix(name, "rbac") {
			return ", a function has the rights of who deploys it"
		}
		return ""
	})
	usual := DefaultSettings()
	for i := range SettingTable {
		r := &SettingTable[i]
		_, why, without := strings.Cut(r.Doc, "o effect")
		if without && !reflect.DeepEqual(r.field(s), r.field(&usual)) {
			list = append(list, "the setting "+r.Name+" has no effect"+strings.TrimSuffix(why, "."))
		}
	}
	return list
}

// set reads a value. null leaves the setting as it is, but takes a selector away.
func (r *SettingRow) set(s *Settings, value json.RawMessage) error {
	isNull := bytes.Equal(bytes.TrimSpace(value), []byte("null"))
	field := r.field(s)
	if isNull {
		if selector, ok := field.(*json.RawMessage); ok {
			*selector = nil
		}
		return nil
	}
	var err error
	switch to := field.(type) {
	case *int64:
		return r.setNumber(to, value)
	case *json.RawMessage:
		return r.setObject(to, value)
	case *schedule.List:
		if err = json.Unmarshal(value, to); err != nil {
			return Errorf(CodeInvalidConfig, "%s: %v", r.Name, err)
		}
	case *string:
		if err = json.Unmarshal(value, to); err == nil {
			return r.checkText(*to)
		}
	default: // booleans and lists of texts
		err = json.Unmarshal(value, to)
	}
	if err != nil {
		code := CodeInvalidConfig
		if r.change == byOperations {
			code = CodeStatusesNotFound
		}
		return Errorf(code, "%s must be %s", r.Name, r.Type())
	}
	return nil
}

// Type says what values the setting has.
func (r *SettingRow) Type() string {
	switch r.field(new(Settings)).(type) {
	case *bool:
		return "a boolean"
	case *int64:
		return "a whole number"
	case *string:
		return "a text"
	case *[]string:
		return "a list of texts"
	case *schedule.List:
		return "a list of objects"
	}
	return "an object"
}

// setNumber takes whole numbers in any form that JSON has for them.
func (r *SettingRow) setNumber(to *int64, value json.RawMessage) error {
	var f float64
	if json.Unmarshal(value, &f) != nil || f != math.Trunc(f) {
		return Errorf(CodeInvalidConfig, "%s must be a whole number", r.Name)
	}
	if f < float64(r.Min) || f > float64(r.Max) {
		return Errorf(CodeInvalidConfig, "%s must be from %d to %d", r.Name, r.Min, r.Max)
	}
	n := int64(min(f, 1<<53)) // beyond which a float64 skips numbers
	if r.Name == "num_timer_partitions" {
		n = 1 << bits.Len64(uint64(n-1))
	}
	*to = n
	return nil
}

// setObject takes an object, without the blanks between its tokens.
func (r *SettingRow) setObject(to *json.RawMessage, value json.RawMessage) error {
	var compacted bytes.Buffer
	if err := json.Compact(&compacted, value); err != nil || compacted.Bytes()[0] != '{' {
		return Errorf(CodeInvalidConfig, "%s must be an object", r.Name)
	}
	*to = compacted.Bytes()
	return nil
}

func (r *SettingRow) checkText(text string) error {
	switch {
	case r.Name == "dcp_stream_boundary" && isTime(text):
	case r.Values != nil && !slices.Contains(r.Values, text):
		return Errorf(CodeInvalidConfig, "%s must be one of %s", r.Name, strings.Join(r.Values, ", "))
	case r.Name == "dead_letter_database" && text != "" && compat.ValidateDatabaseName(text) != nil:
		return Errorf(CodeInvalidConfig, "%s: %q is not the name of a database", r.Name, text)
	}
	return nil
}

// isTime reports whether a text is a time of the form of `since`.
func isTime(text string) bool {
	since, err := compat.ParseSince(text)
	return err == nil && since.Timed
}

// MarshalJSON prints all settings, in the order of their names.
func (s Settings) MarshalJSON() ([]byte, error) {
	all := make(map[string]any, len(SettingTable))
	for _, r := range SettingTable {
		field := r.field(&s)
		if selector, ok := field.(*json.RawMessage); ok && *selector == nil {
			continue
		}
		all[r.Name] = field
	}
	return JSON(all)
}

// UnmarshalJSON reads what MarshalJSON has printed; what is missing has its default.
func (s *Settings) UnmarshalJSON(text []byte) error {
	*s = DefaultSettings()
	return s.Merge(text, false)
}

// same reports whether the setting has the same value in both.
func (r *SettingRow) same(a, b *Settings) bool { return reflect.DeepEqual(r.field(a), r.field(b)) }

// clone copies what can be changed.
func (s Settings) clone() Settings {
	s.Headers, s.Footers = slices.Clone(s.Headers), slices.Clone(s.Footers)
	s.Selector, s.Schedules = slices.Clone(s.Selector), slices.Clone(s.Schedules)
	s.HTTPRoles = slices.Clone(s.HTTPRoles)
	return s
}
