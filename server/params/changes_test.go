package params

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
)

func TestChangesOptions(t *testing.T) {
	defaults := func() *ChangesOptions {
		return &ChangesOptions{feed: "normal", since: "0", Limit: MaxChangesLimit, wait: feedWait{timeout: -1}}
	}
	for query, change := range map[string]func(*ChangesOptions){
		"":                              func(*ChangesOptions) {},
		"LIMIT=1&Feed=live":             func(o *ChangesOptions) { o.Limit, o.feed = 1, "continuous" },
		"limit=-1&limit=0":              func(o *ChangesOptions) { o.Limit = 0 },
		"limit=0&limit=-5":              func(*ChangesOptions) {},
		"since=1-a&last-event-id=2-b":   func(o *ChangesOptions) { o.since = "2-b" },
		"descending=TRUE&include_docs=": func(*ChangesOptions) {},
		"descending=true&descending=x":  func(o *ChangesOptions) { o.Descending = true },
		"include_docs=true&conflicts=true&attachments=true&att_encoding_info=true": func(o *ChangesOptions) {
			o.IncludeDocs, o.Conflicts, o.Attachments, o.AttEncodingInfo = true, true, true, true
		},
		"style=all_docs&filter=d/f&seq_interval=10": func(o *ChangesOptions) {
			o.AllLeaves, o.filter, o.SeqInterval = true, "d/f", 10
		},
		"feed=foo": func(o *ChangesOptions) { o.feed = "foo" },
	} {
		want := defaults()
		change(want)
		got, err := ParseChanges(compat.ParseQuery(query), "9-z", false)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", query, got, err)
		}
	}
	for header, want := range map[string]string{"9-z": "9-z", "": "1-a"} {
		if o, err := ParseChanges(compat.ParseQuery("feed=eventsource&since=1-a"), header, false); err != nil ||
			o.since != want {
			t.Errorf("Last-Event-ID %q: since %q, %v", header, o.since, err)
		}
	}
}

// TestNegatives: 3.6 refuses what 3.5 takes for no limit and no time.
func TestNegatives(t *testing.T) {
	for _, name := range []string{"limit", "timeout"} {
		q := compat.ParseQuery(name + "=-1")
		_, err := ParseChanges(q, "", false)
		require.NoError(t, err)
		_, err = ParseChanges(q, "", true)
		require.Equal(t, "bad_request The "+name+" value should be a non-negative integer", message(err))
	}
}

func TestChangesErrors(t *testing.T) {
	for query, want := range map[string]string{
		"seq_interval=0":                 "bad_request invalid_seq_interval",
		"seq_interval=":                  "bad_request invalid_seq_interval",
		"heartbeat=0":                    "bad_request The heartbeat value should be a positive integer (in milliseconds).",
		"heartbeat=-5":                   "bad_request The heartbeat value should be a positive integer (in milliseconds).",
		"heartbeat=x":                    "bad_request Invalid heartbeat value. Expecting a positive integer value (in milliseconds).",
		"heartbeat=false&seq_interval=0": "bad_request Invalid heartbeat value. Expecting a positive integer value (in milliseconds).",
		"heartbeat=1.5":                  "bad_request Invalid heartbeat value. Expecting a positive integer value (in milliseconds).",
		"limit=x":                        "bad_request The limit parameter should be a non-negative integer",
		"limit=":                         "bad_request The limit parameter should be a non-negative integer",
		"timeout=x":                      "bad_request The timeout parameter should be a non-negative integer",
		"style=x":                        "bad_request Supported `style` values: main_only, all_docs",
	} {
		if _, err := ParseChanges(compat.ParseQuery(query), "", false); message(err) != want {
			t.Errorf("%s: got %v", query, err)
		}
	}
}

func TestFeeds(t *testing.T) {
	for _, name := range []string{"normal", "longpoll", "continuous", "eventsource"} {
		o, err := ParseChanges(compat.ParseQuery("feed="+name), "", false)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := o.CheckFeed(); err != nil || string(f) != name {
			t.Errorf("%s: got %s, %v", name, f, err)
		}
	}
	for _, name := range []string{"", "foo", "Continuous"} {
		o, err := ParseChanges(compat.ParseQuery("feed="+name), "", false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.CheckFeed(); message(
			err,
		) != "bad_request Supported `feed` types: normal, continuous, live, longpoll, eventsource" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFeedWait(t *testing.T) {
	const limit = time.Minute
	for query, want := range map[string]struct {
		d         time.Duration
		heartbeat bool
	}{
		"":                             {limit, false},
		"timeout=500":                  {500 * time.Millisecond, false},
		"timeout=-1":                   {0, false},
		"timeout=99999999999999999999": {limit, false},
		"heartbeat=true&timeout=500":   {limit, true},
		"heartbeat=1000":               {time.Second, true},
		"heartbeat=9999999999":         {limit, true},
	} {
		o, err := ParseChanges(compat.ParseQuery(query), "", false)
		if err != nil {
			t.Fatal(err)
		}
		if d, heartbeat := o.Wait(limit); d != want.d || heartbeat != want.heartbeat {
			t.Errorf("%s: got %v %v", query, d, heartbeat)
		}
	}
}

func readFilter(t *testing.T, query, body string) (documents.Filter, error) {
	t.Helper()
	q := compat.ParseQuery(query)
	o, err := ParseChanges(q, "", false)
	if err != nil {
		t.Fatal(err)
	}
	err = o.ReadFilter(q, body != "", mustParse(t, body), true)
	return o.Filter, err
}

func TestReadFilter(t *testing.T) {
	for query, want := range map[string]documents.Filter{
		"":                          {},
		"filter=/":                  {},
		"filter=_doc_ids":           {Kind: documents.FilterIDs, IDs: []string{}},
		"filter=_selector":          {Kind: documents.FilterSelector},
		"filter=_design":            {Kind: documents.FilterDesign},
		"filter=_view&view=/d//v/":  {Kind: documents.FilterView, Design: "d", Function: "v"},
		"filter=d/f":                {Kind: documents.FilterFunction, Design: "d", Function: "f"},
		"filter=d/a%252Fb&view=x/y": {Kind: documents.FilterFunction, Design: "d", Function: "a/b"},
	} {
		got, err := readFilter(t, query, `{"doc_ids":[],"selector":{}}`)
		if (got.Selector != nil) != (want.Kind == documents.FilterSelector) {
			t.Errorf("%s: the selector is %v", query, got.Selector)
		}
		got.Selector = nil
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", query, got, err)
		}
	}
	for body, want := range map[string]string{
		"":                             "bad_request Selector must be specified in POST payload",
		"{}":                           "bad_request Selector error: expected a JSON object",
		`{"selector":{},"fields":"a"}`: "bad_request Selector error: fields must be JSON array",
	} {
		if _, err := readFilter(t, "filter=_selector", body); message(err) != want {
			t.Errorf("%s: %v", body, err)
		}
	}
	const form = "bad_request `filter` must be of the form `designname/filtername`"
	for query, want := range map[string]string{
		"filter=d":                    form,
		"filter=d/f/x":                form,
		"filter=_nope":                "bad_request unknown builtin filter name",
		"filter=_design/f/all":        "bad_request unknown builtin filter name",
		"filter=_view":                "bad_request `view` filter parameter is not provided.",
		"filter=_view&view=/":         "bad_request `view` must be of the form `designname/viewname`",
		"filter=_view&view=d":         "bad_request `view` must be of the form `designname/viewname`",
		"filter=_view&view=&view=d/v": "bad_request `view` filter parameter is not provided.",
	} {
		if _, err := readFilter(t, query, ""); message(err) != want {
			t.Errorf("%s: got %v", query, err)
		}
	}
	q := compat.ParseQuery("filter=_doc_ids&doc_ids=[]")
	o, err := ParseChanges(q, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.ReadFilter(q, true, mustParse(t, ""), true); err != compat.ErrInvalidJSON {
		t.Errorf("a POST without a body: %v", err)
	}
}

func TestFilterDocIDs(t *testing.T) {
	const bad = "bad_request `doc_ids` filter parameter is not a list of doc ids."
	for _, test := range []struct{ query, body, err string }{
		{`doc_ids=["a","b","a"]`, "", ""},
		{"", `{"doc_ids":["a","b","a"]}`, ""},
		{"", "", bad},
		{`doc_ids=["a"]`, "{}", bad},
		{`doc_ids="a"`, "", bad},
		{`doc_ids=["a",null]`, "", bad},
		{"doc_ids=x", "", "bad_request invalid UTF-8 JSON"},
		{"", `{"doc_ids":{}}`, bad},
	} {
		f, err := readFilter(t, "filter=_doc_ids&"+test.query, test.body)
		ids := f.IDs
		if message(err) != test.err || (err == nil && !reflect.DeepEqual(ids, []string{"a", "b", "a"})) {
			t.Errorf("%s %s: got %q, %v", test.query, test.body, ids, err)
		}
	}
}

func TestDBUpdatesOptions(t *testing.T) {
	o, err := ParseDBUpdates(
		compat.ParseQuery("feed=longpoll&feed=x&limit=5&LIMIT=x&since=1-a&descending=true&timeout=7&heartbeat=false"),
	)
	want := &DBUpdatesOptions{feed: "longpoll", since: "1-a", Limit: 5, Descending: true, wait: feedWait{timeout: 7}}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("got %+v, %v", o, err)
	}
	if d, heartbeat := o.Wait(time.Minute); d != 7*time.Millisecond || heartbeat {
		t.Error(d, heartbeat)
	}
	if f, err := o.CheckFeed(); err != nil || f != FeedLongpoll {
		t.Error(f, err)
	}
	for _, query := range []string{"limit=-1", "limit=", "heartbeat=x", "timeout=1.5"} {
		if _, err := ParseDBUpdates(compat.ParseQuery(query)); message(err) != "bad_request invalid_integer" {
			t.Errorf("%s: %v", query, err)
		}
	}
	o, err = ParseDBUpdates(compat.ParseQuery("feed=live&heartbeat=true"))
	if err != nil {
		t.Fatal(err)
	}
	if _, heartbeat := o.Wait(time.Minute); !heartbeat {
		t.Error("no heartbeat")
	}
	if _, err := o.CheckFeed(); message(
		err,
	) != "bad_request Supported `feed` types: normal, continuous, longpoll, eventsource" {
		t.Error(err)
	}
}

func FuzzChangesOptions(f *testing.F) {
	f.Add("feed=live&since=now&heartbeat=true&limit=1&filter=a/b&style=all_docs&seq_interval=3")
	f.Fuzz(func(t *testing.T, query string) {
		q := compat.ParseQuery(query)
		if o, err := ParseChanges(q, "", false); err == nil {
			if d, _ := o.Wait(time.Minute); o.Limit < 0 || o.SeqInterval < 0 || d < 0 || d > time.Minute {
				t.Fatalf("%+v", o)
			}
			_, _ = o.CheckFeed()
			_ = o.ReadFilter(q, false, mustParse(t, ""), true)
		} else if _, ok := compat.AsError(err); !ok {
			t.Fatalf("not an Error: %v", err)
		}
		if o, err := ParseDBUpdates(q); err == nil {
			if d, _ := o.Wait(time.Minute); o.Limit < 0 || d < 0 || d > time.Minute {
				t.Fatalf("%+v", o)
			}
		}
	})
}
