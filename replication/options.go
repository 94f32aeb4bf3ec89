package replication

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Options are the members of a replication besides its endpoints
// (couch_replicator_parse:make_options).
type Options struct {
	Cancel   bool
	CancelID *JobID // with Cancel: which one, instead of the one the request describes
	// The target is created if it is not there; it goes into the extension of the id.
	CreateTarget bool
	CreateParams []Header // query of the PUT that creates the target
	// Only the winner of each document is copied, without its conflicts.
	WinningRevsOnly bool
	Continuous      bool
	Filter          string // name of a filter, "" for none
	HasFilter       bool
	// JSON object, nil if not given. It goes into the id as it came, in the order of its members.
	QueryParams        []byte   // JSON object, nil if not given
	DocIDs             []string // sorted; nil if not given
	Selector           []byte   // JSON object as given, nil for none
	SinceSeq           Sequence // "" if not given
	UseCheckpoints     bool
	UseBulkGet         bool
	CheckpointInterval time.Duration
	// How many batches are copied at the same time, how many rows each has, and how many
	// connections there are to each side.
	WorkerProcesses int
	BatchSize       int
	Connections     int
	Timeout         time.Duration // without a sign of life from the other side
	// How often a request is sent again that failed; after HealthThreshold/2 it is given up all the
	// same.
	Retries int

	selectorForID []byte // normal form with sorted members
	filterDoc     string // design document and function of a user's filter
	filterFunc    string
}

// parseOptions reads the members that are options over the server's settings, in document order, so
// that of several bad ones the first is reported, as CouchDB does
// (couch_replicator_parse:convert_options).
func parseOptions(doc ejson.Value, set *Settings) (Options, error) {
	o := Options{
		UseCheckpoints: set.UseCheckpoints, UseBulkGet: set.UseBulkGet, CheckpointInterval: set.CheckpointInterval,
		WorkerProcesses: set.WorkerProcesses, BatchSize: set.BatchSize, Connections: set.Connections,
		Timeout: set.Timeout, Retries: set.Retries,
	}
	for name, v := range doc.Members() {
		if err := o.set(name.Text(), v); err != nil {
			return o, err
		}
	}
	kinds := 0
	for _, given := range [...]bool{o.DocIDs != nil, o.HasFilter, o.Selector != nil} {
		if given {
			kinds++
		}
	}
	if kinds > 1 {
		return o, &SpecError{
			Class:  SpecBadRequest,
			Reason: "`doc_ids`,`filter`,`selector` are mutually exclusive",
			List:   true,
		}
	}
	if o.Selector != nil {
		if err := o.normalizeSelector(set); err != nil {
			return o, err
		}
	}
	return o, nil
}

// set takes one option; members that are no options are ignored. Bounds and errors are CouchDB's
// (couch_replicator_parse:convert_options).
func (o *Options) set(name string, v ejson.Value) error {
	switch name {
	case "cancel":
		return setBool(&o.Cancel, name, v)
	case "create_target":
		return setBool(&o.CreateTarget, name, v)
	case "winning_revs_only":
		return setBool(&o.WinningRevsOnly, name, v)
	case "continuous":
		return setBool(&o.Continuous, name, v)
	case "use_bulk_get":
		return setBool(&o.UseBulkGet, name, v)
	case "use_checkpoints":
		on, isBool := v.Bool()
		o.UseCheckpoints = on || !isBool // only false switches them off (couch_replicator_scheduler_job:do_checkpoint)
	case "_local_id", "replication_id", "id":
		if v.Kind() != ejson.String {
			return errFunctionClause
		}
		id := ParseJobID(v.Text())
		o.CancelID = &id
	case "create_target_params", "selector", "query_params", "doc_ids", "filter", "since_seq":
		return o.setStructured(name, v)
	case "worker_processes":
		return setInt(&o.WorkerProcesses, v, 1)
	case "worker_batch_size":
		return setInt(&o.BatchSize, v, 1)
	case "http_connections":
		return setInt(&o.Connections, v, 1)
	case "retries_per_request":
		return setInt(&o.Retries, v, 0)
	case "connection_timeout":
		return setMillis(&o.Timeout, v)
	case "checkpoint_interval":
		return setMillis(&o.CheckpointInterval, v)
	}
	return nil
}

// setStructured reads the options that are lists, objects or values of any type
// (couch_replicator_parse:convert_options). Those that the source understands are kept as JSON and
// passed on as they came.
func (o *Options) setStructured(name string, v ejson.Value) error {
	switch name {
	case "create_target_params":
		if v.Kind() != ejson.Object {
			return badOption("parameter `create_target_params` must be a JSON object")
		}
		for key, value := range v.Members() {
			o.CreateParams = append(o.CreateParams, Header{key.Text(), plainText(value)})
		}
	case "selector":
		if v.Kind() != ejson.Object {
			return badOption("parameter `selector` must be a JSON object")
		}
		o.Selector = v.AppendJSON(nil)
	case "query_params":
		if v.Kind() != ejson.Object {
			return badOption("parameter `query_params` must be an object")
		}
		o.QueryParams = v.AppendJSON(nil)
	case "doc_ids":
		return o.setDocIDs(v)
	case "filter":
		o.Filter, o.HasFilter = plainText(v), true
	case "since_seq":
		o.SinceSeq = Sequence(v.AppendJSON(nil))
	}
	return nil
}

// setDocIDs takes percent-encoded ids, each once.
func (o *Options) setDocIDs(v ejson.Value) error {
	if v.IsNull() {
		return nil
	}
	if v.Kind() != ejson.Array {
		return badOption("parameter `doc_ids` must be an array")
	}
	o.DocIDs = make([]string, 0, v.Len())
	for e := range v.Elements() {
		if e.Kind() != ejson.String {
			return errFunctionClause
		}
		o.DocIDs = append(o.DocIDs, unquote(e.Text()))
	}
	slices.Sort(o.DocIDs)
	o.DocIDs = slices.Compact(o.DocIDs)
	return nil
}

// unquote decodes percent-encoding and plus signs (couch_httpd:unquote); a percent sign without two
// digits leaves the encoding as it is.
func unquote(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return strings.ReplaceAll(s, "+", " ")
}

// plainText is the text of a string, else the JSON.
func plainText(v ejson.Value) string {
	if v.Kind() == ejson.String {
		return v.Text()
	}
	return string(v.AppendJSON(nil))
}

func setBool(dst *bool, name string, v ejson.Value) error {
	b, ok := v.Bool()
	if !ok {
		return badOption("parameter `" + name + "` must be a boolean")
	}
	*dst = b
	return nil
}

// setInt reads an integer or the text of one; smaller ones than the least become it.
func setInt(dst *int, v ejson.Value, least int) error {
	n, ok := v.Int()
	if v.Kind() == ejson.String {
		var err error
		n, err = strconv.ParseInt(v.Text(), 10, 64)
		if err != nil {
			return &SpecError{Class: SpecCrash, Reason: "badarg"}
		}
		ok = true
	}
	if !ok {
		return errFunctionClause
	}
	*dst = int(max(min(n, 1<<30), int64(least)))
	return nil
}

func setMillis(dst *time.Duration, v ejson.Value) error {
	var n int
	if err := setInt(&n, v, 1); err != nil {
		return err
	}
	*dst = time.Duration(n) * time.Millisecond
	return nil
}

// normalizeSelector makes the form of the selector that goes into the replication id: CouchDB
// hashes Mango's normal form, so that two spellings of a selector have the same id and checkpoint.
func (o *Options) normalizeSelector(set *Settings) error {
	v, err := ejson.Parse(o.Selector)
	if err != nil {
		return err
	}
	normal, err := set.NormalizeSelector(v)
	if e, ok := compat.AsError(err); ok {
		return badOption(e.Reason) // CouchDB crashes
	}
	if err != nil {
		return err
	}
	if v, err = ejson.Parse(normal); err != nil {
		return err
	}
	o.selectorForID = appendSorted(nil, v)
	return nil
}

// appendSorted prints a value with the members of its objects sorted by name
// (couch_replicator_filters:ejsort). The depth is that of a parsed selector.
func appendSorted(dst []byte, v ejson.Value) []byte {
	switch v.Kind() {
	case ejson.Array:
		dst = append(dst, '[')
		first := true
		for e := range v.Elements() {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendSorted(dst, e)
		}
		return append(dst, ']')
	case ejson.Object:
		type member struct {
			name  string
			value ejson.Value
		}
		members := make([]member, 0, v.Len())
		for name, value := range v.Members() {
			members = append(members, member{name.Text(), value})
		}
		slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		dst = append(dst, '{')
		for i, m := range members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSorted(append(ejson.AppendString(dst, m.name), ':'), m.value)
		}
		return append(dst, '}')
	}
	return v.AppendJSON(dst)
}

// checkFilter reads the filter's name, and that of the view for the filter _view
// (couch_replicator_filters:parse, view_type).
func (o *Options) checkFilter() error {
	if o.Filter == "_view" {
		var view ejson.Value
		if o.QueryParams != nil {
			params, err := ejson.Parse(o.QueryParams)
			if err != nil {
				return err
			}
			view, _ = params.Get("view")
		}
		if view.Kind() != ejson.String {
			return &SpecError{Class: SpecCrash, Reason: "badarg"}
		}
		if strings.Count(view.Text(), "/") != 1 {
			return badOption("Invalid `view` parameter.")
		}
	}
	if !o.HasFilter || strings.HasPrefix(o.Filter, "_") {
		return nil
	}
	name, function, found := strings.Cut(o.Filter, "/")
	if !found {
		return invalid("Invalid filter. Must match `ddocname/filtername`.")
	}
	o.filterDoc, o.filterFunc = name, function
	return nil
}

// UserFilter reports whether the filter is a function of a design document at the source: its text
// is part of the id.
func (o *Options) UserFilter() bool { return o.HasFilter && !strings.HasPrefix(o.Filter, "_") }

// StripCredentials is the URL of an endpoint as it stands in a document, without credentials, as
// JSON; null for what is no endpoint (couch_replicator:strip_url_creds).
func StripCredentials(v ejson.Value, set *Settings) []byte {
	if v.Kind() == ejson.String && !strings.HasPrefix(v.Text(), "http://") && !strings.HasPrefix(v.Text(), "https://") {
		return v.AppendJSON(nil)
	}
	wrapped, err := ejson.Parse(append(v.AppendJSON([]byte(`{"e":`)), '}'))
	if err != nil {
		return []byte("null")
	}
	e, err := parseEndpoint(wrapped, "e", ejson.Value{}, set)
	if err != nil {
		return []byte("null")
	}
	return ejson.AppendString(nil, e.DisplayURL())
}
