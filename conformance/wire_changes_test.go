package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

type change struct {
	Seq     *string
	ID      string
	Changes []struct{ Rev string }
	Deleted bool
	Doc     json.RawMessage
}

type changes struct {
	Results []change
	LastSeq string       `json:"last_seq"`
	Pending *json.Number `json:"pending"`
}

func (c *client) changes(db, query string) changes {
	c.t.Helper()
	var feed changes
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+db+"/_changes"+query, "")), &feed)
	return feed
}

var sequence = regexp.MustCompile(`^(\d+)-(.+)$`)

// sequenceNumber is the integer that a sequence begins with, as PouchDB and LiveSync read it.
func sequenceNumber(t *testing.T, seq string) int {
	t.Helper()
	m := sequence.FindStringSubmatch(seq)
	if m == nil {
		t.Fatalf("%q is not <integer>-<opaque>", seq)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// W3: sequences are <integer>-<opaque> and the integer grows (PouchDB's parseInt, LiveSync's
// progress bar, CHT's monitoring).
func TestW03_SequencesGrow(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("")
	updateSeq := func() int {
		var info struct {
			Seq string `json:"update_seq"`
		}
		c.decode(c.do("GET", "/"+db, ""), &info)
		return sequenceNumber(t, info.Seq)
	}
	last := updateSeq()
	rev := ""
	for i := range 20 {
		rev = c.put(db, "doc", bodyWithRev(i, rev))
		c.put(db, fmt.Sprintf("other-%d", i), `{}`)
		if now := updateSeq(); now <= last {
			t.Fatalf("update_seq went from %d to %d by two writes", last, now)
		} else {
			last = now
		}
	}
	feed := c.changes(db, "")
	if len(feed.Results) != 21 {
		t.Errorf("%d rows", len(feed.Results))
	}
	row := 0
	for _, r := range feed.Results {
		n := sequenceNumber(t, *r.Seq)
		if n <= row {
			t.Errorf("the feed goes from %d to %d", row, n)
		}
		row = n
	}
	if n := sequenceNumber(t, feed.LastSeq); n < row || n != last {
		t.Errorf("last_seq %d, last row %d, update_seq %d", n, row, last)
	}
}

func bodyWithRev(i int, rev string) string {
	if rev == "" {
		return fmt.Sprintf(`{"i":%d}`, i)
	}
	return fmt.Sprintf(`{"_rev":%q,"i":%d}`, rev, i)
}

// W4: seq_interval makes the seq of skipped rows null; last_seq and an integer pending always come,
// also with limit=0 (PouchDB, couchbackup, nano; CHT asks limit=0 for pending; LiveSync rejects a
// pending that is no integer).
func TestW04_SeqIntervalAndPending(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("?q=1")
	const docs = 10
	for i := range docs {
		c.put(db, fmt.Sprintf("d%02d", i), `{}`)
	}
	for query, want := range map[string]struct{ rows, pending int }{
		"": {10, 0}, "?limit=0": {0, 10}, "?limit=4": {4, 6}, "?since=now": {0, 0}, "?limit=3&seq_interval=2": {3, 7}, "?descending=true&limit=1": {1, 9},
	} {
		feed := c.changes(db, query)
		if len(feed.Results) != want.rows || feed.LastSeq == "" || feed.Pending == nil ||
			feed.Pending.String() != strconv.Itoa(want.pending) {
			t.Errorf("%q: %d rows, last_seq %q, pending %v", query, len(feed.Results), feed.LastSeq, feed.Pending)
		}
	}
	withSeq := 0
	rows := c.changes(db, "?seq_interval=4").Results
	for _, r := range rows {
		if r.Seq != nil {
			withSeq++
		}
	}
	if len(rows) != docs || withSeq < 2 || withSeq > 3 {
		t.Errorf("seq_interval=4: %d of %d rows have a seq", withSeq, len(rows))
	}
	// what a row's seq promises: going on there gives exactly the rest
	all := c.changes(db, "").Results
	rest := c.changes(db, "?since="+*all[5].Seq)
	if len(rest.Results) != 4 || rest.Results[0].ID != all[6].ID {
		t.Errorf("since the sixth row: %d rows", len(rest.Results))
	}
}

// W5: one row a line (nano's spool() cuts at line ends and trailing commas and looks for last_seq
// with a regex).
func TestW05_StreamingLayout(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("?q=1")
	for _, id := range []string{"a", "b", "c"} {
		c.put(db, id, `{}`)
	}
	row := `\{"seq":"[^"]+","id":"%s","changes":\[\{"rev":"1-[0-9a-f]{32}"\}\]\}`
	feed := `^\{"results":\[\n` + fmt.Sprintf(
		row,
		"a",
	) + `,\r?\n` + fmt.Sprintf(
		row,
		"b",
	) + `,\r?\n` + fmt.Sprintf(
		row,
		"c",
	) +
		`\n\],\n"last_seq":"[^"]+","pending":0\}\n+$`
	if body := c.do("GET", "/"+db+"/_changes", "").Body; !regexp.MustCompile(feed).MatchString(body) {
		t.Errorf("_changes: %q", body)
	}
	row = `\{"id":"%[1]s","key":"%[1]s","value":\{"rev":"1-[0-9a-f]{32}"\}\}`
	list := `^\{"total_rows":3,"offset":0,"rows":\[\r\n` + fmt.Sprintf(
		row,
		"a",
	) + `,\r\n` + fmt.Sprintf(
		row,
		"b",
	) + `,\r\n` + fmt.Sprintf(
		row,
		"c",
	) + `\r\n\]\}\n$`
	if body := c.do("GET", "/"+db+"/_all_docs", "").Body; !regexp.MustCompile(list).MatchString(body) {
		t.Errorf("_all_docs: %q", body)
	}
}

// W6: rows of _db_updates begin with db_name, its normal reply with results (kivik tells the feed's
// kind by the first member); the member order of documents survives a round trip.
func TestW06_MemberOrder(t *testing.T) {
	c := newClient(t)
	if r := c.do("PUT", "/_global_changes", ""); r.Status != http.StatusCreated &&
		r.Status != http.StatusPreconditionFailed {
		t.Fatalf("PUT /_global_changes: %d", r.Status)
	}
	db := c.newDatabase("")
	deadline := time.Now().Add(10 * time.Second)
	for !strings.Contains(c.do("GET", "/_db_updates", "").Body, db) {
		if time.Now().After(deadline) {
			t.Fatal("the new database does not show in _db_updates")
		}
		time.Sleep(100 * time.Millisecond)
	}
	if body := c.do("GET", "/_db_updates", "").Body; !strings.HasPrefix(body, `{"results":[`) {
		t.Errorf("normal: %.80q", body)
	}
	for line := range strings.Lines(c.do("GET", "/_db_updates?feed=continuous&timeout=500", "").Body) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, `{"db_name":"`) && !strings.HasPrefix(line, `{"last_seq":"`) {
			t.Errorf("continuous: %q", line)
		}
	}
	const members = `"z":1,"a":{"y":[],"b":null},"m":1.0,"10":true,"2":"x"`
	rev := c.put(db, "doc", "{"+members+"}")
	if body := c.do("GET", "/"+db+"/doc", "").Body; body != `{"_id":"doc","_rev":"`+rev+`",`+members+"}\n" {
		t.Errorf("document: %s", body)
	}
}

// W7: a continuous feed with limit and timeout and no heartbeat ends with a last_seq line after the
// wait (LiveSync's Fast Fetch takes a missing end for a broken transport).
func TestW07_ContinuousEnds(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("?q=1")
	c.put(db, "a", `{}`)
	c.put(db, "b", `{}`)
	lastLine := func(query string) (last struct {
		LastSeq string       `json:"last_seq"`
		Pending *json.Number `json:"pending"`
	}, rows int) {
		body := strings.TrimSpace(c.do("GET", "/"+db+"/_changes?feed=continuous&"+query, "").Body)
		lines := strings.Split(body, "\n")
		c.decode(reply{Body: lines[len(lines)-1]}, &last)
		return last, len(lines) - 1
	}
	start := time.Now()
	last, rows := lastLine("limit=1000&timeout=1000&include_docs=true&style=all_docs&conflicts=true&revs=true")
	if took := time.Since(start); took < 900*time.Millisecond || took > 5*time.Second {
		t.Errorf("a timeout of one second ended after %s", took)
	}
	if rows != 2 || last.LastSeq == "" || last.Pending == nil || last.Pending.String() != "0" {
		t.Errorf("%d rows, end %+v", rows, last)
	}
	if last, rows = lastLine("limit=1&timeout=1000"); rows != 1 || last.Pending == nil || last.Pending.String() != "1" {
		t.Errorf("limit=1: %d rows, end %+v", rows, last)
	}
}

// W8: a longpoll's headers come at once, heartbeats are bare line ends (follow and changes-stream
// give up otherwise, logstash skips blank lines).
func TestW08_LongpollHeartbeats(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("?q=1")
	start := time.Now()
	resp := c.open("GET", "/"+db+"/_changes?feed=longpoll&since=now&heartbeat=200", "")
	defer resp.Body.Close()
	if took := time.Since(start); resp.StatusCode != http.StatusOK || took > 2*time.Second {
		t.Fatalf("status %d after %s", resp.StatusCode, took)
	}
	in := bufio.NewReader(resp.Body)
	line := func() string {
		text, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if first := line(); first != "{\"results\":[\n" {
		t.Errorf("first line %q", first)
	}
	for i := range 4 {
		if beat := line(); beat != "\n" {
			t.Errorf("heartbeat %d is %q", i, beat)
		}
	}
	c.put(db, "doc", `{}`)
	row := line()
	for row == "\n" {
		row = line()
	}
	if !strings.Contains(row, `"id":"doc"`) {
		t.Errorf("row %q", row)
	}
}
