package conformance

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"strings"
	"testing"
)

// joined is what one makes for 0 ≤ i < n, with commas between.
func joined(n int, one func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(one(i))
	}
	return b.String()
}

// gzipped compresses text that is repeated.
func gzipped(t *testing.T, before, text string, times int, after string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	part := []byte(strings.Repeat(text, 1000))
	_, err := z.Write([]byte(before))
	for i := 0; err == nil && i < times; i += 1000 {
		_, err = z.Write(part)
	}
	if err == nil {
		_, err = z.Write([]byte(after))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHostileJSON(t *testing.T) {
	a := newAbused(t)
	put := func(id, body string) string { return withBody("PUT", a.db+"/"+id, "", body) }
	post := func(path, body string) string { return withBody("POST", a.db+path, "", body) }
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	deepObject := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	one := func(text string) func(int) string { return func(int) string { return text } }
	number := func(format string) func(int) string { return func(i int) string { return fmt.Sprintf(format, i, i) } }
	a.run([]attack{
		{name: "deep array", raw: put("da", `{"a":`+deep(100_000)+`}`), want: created},
		{name: "deep array, reading", raw: head("GET", a.db+"/da", ""), want: "HTTP/1.1 200 "},
		{name: "deep object", raw: put("do", deepObject), want: created},
		{name: "very deep array", raw: put("dv", `{"a":`+deep(1_000_000)+`}`), want: created},
		{name: "deep and open", raw: put("dx", strings.Repeat("[", 1_000_000)), want: badJSON},
		{name: "deep object, open", raw: put("dx", strings.Repeat(`{"a":`, 1_000_000)), want: badJSON},
		{
			name: "deep in _bulk_docs",
			raw:  post("/_bulk_docs", `{"docs":[{"_id":"db","a":`+deep(100_000)+`}]}`),
			want: created,
		},
		{
			name: "deep in _changes",
			raw:  post("/_changes?filter=_doc_ids", `{"doc_ids":["da"],"a":`+deep(100_000)+`}`),
			want: "HTTP/1.1 200 ",
		},
		{
			name: "long integer",
			raw:  put("li", `{"a":`+strings.Repeat("9", 1000)+`}`),
			want: created + `|HTTP/1.1 500 .*"badarith"`,
		},
		// CouchDB works on it for minutes
		{
			name: "very long integer",
			raw:  put("lv", `{"a":`+strings.Repeat("9", 1_000_000)+`}`),
			own:  true,
			want: `HTTP/1.1 500 .*"badarith"`,
		},
		{name: "huge exponent", raw: put("he", `{"a":1e999999999}`), want: badJSON},
		{name: "tiny exponent", raw: put("te", `{"a":1e-999999999}`), want: created},
		{name: "exponent beyond all", raw: put("eb", `{"a":1e1000000000000000000000}`), want: badJSON},
		{name: "long fraction", raw: put("lf", `{"a":0.`+strings.Repeat("1", 1_000_000)+`}`), want: created},
		{name: "equal keys", raw: put("ek", `{`+joined(300_000, number(`"a":%[1]d`))+`}`), want: created},
		{name: "equal keys, reading", raw: head("GET", a.db+"/ek", ""), want: `HTTP/1.1 200 .*"a":299999}`},
		{name: "many keys", raw: put("mk", `{`+joined(100_000, number(`"k%d":%d`))+`}`), want: created},
		{name: "keys of one hash table", raw: put("mh", `{`+joined(100_000, number(`"%016d":%d`))+`}`), want: created},
		{name: "long array", raw: put("la", `{"a":[`+joined(3_000_000, one("0"))+`]}`), want: created},
		{name: "array of arrays", raw: put("aa", `{"a":[`+joined(2_000_000, one("[]"))+`]}`), want: created},
		{
			name: "no documents",
			raw:  post("/_bulk_docs", `{"docs":[`+joined(100_000, one("null"))+`]}`),
			want: `HTTP/1.1 400 .*"Document must be a JSON object"`,
		},
		{
			name: "many documents",
			raw:  post("/_bulk_docs", `{"docs":[`+joined(20_000, number(`{"_id":"m%[1]d"}`))+`]}`),
			want: created,
		},
	})
}

func TestHostileSizes(t *testing.T) {
	a := newAbused(t)
	put := func(id, body string, headers ...string) string {
		return withBody("PUT", a.db+"/"+id, strings.Join(headers, ""), body)
	}
	post := func(path, body string) string { return withBody("POST", a.db+path, "", body) }
	const packed = "Content-Encoding: gzip\r\n"
	const text = "Content-Type: text/plain\r\n"
	long := func(n int) string { return strings.Repeat("x", n) }
	tooLong := tooLarge + `.*"document_too_large"`
	a.run([]attack{
		{name: "large document", raw: put("ld", `{"a":"`+long(7_999_000)+`"}`), want: created},
		{name: "document too large", raw: put("dl", `{"a":"`+long(8_000_000)+`"}`), want: tooLong + `,"reason":""`},
		{
			name: "one of many too large",
			raw:  post("/_bulk_docs", `{"docs":[{"_id":"ok"},{"_id":"not","a":"`+long(8_000_000)+`"}]}`),
			want: tooLong + `,"reason":"not"`,
		},
		{name: "nothing of them is there", raw: head("GET", a.db+"/ok", ""), want: notFound},
		// CouchDB unpacks it first
		{
			name: "gzip bomb",
			raw:  put("gb", gzipped(t, `{"a":"`, "x", 100_000_000, `"}`), packed),
			own:  true,
			want: tooLarge + `.*"too_large"`,
		},
		{
			name: "gzip bomb of blanks",
			raw:  put("gs", gzipped(t, "{", " ", 100_000_000, "}"), packed),
			own:  true,
			want: tooLarge + `.*"too_large"`,
		},
		{name: "well packed", raw: put("gw", gzipped(t, "{", " ", 900_000, "}"), packed), want: created},
		{
			name: "no gzip",
			raw:  put("gn", "\x1f\x8b\x08nothing", packed),
			want: `HTTP/1.1 400 .*"Request body is not properly gzipped."`,
		},
		{
			name: "half of a gzip",
			raw:  put("gh", gzipped(t, `{"a":1}`, "", 0, "")[:20], packed),
			want: `HTTP/1.1 400 .*"Request body is not properly gzipped."`,
		},
		{name: "unknown coding", raw: put("gu", "x", "Content-Encoding: br\r\n"), want: "HTTP/1.1 415 "},
		{
			name: "two codings",
			raw:  put("g2", gzipped(t, `{"a":1}`, "", 0, ""), packed, packed),
			want: `HTTP/1.1 415 .*"bad_content_type","reason":"gzip, gzip is not a supported content encoding."`,
		},
		{
			name: "a coding and none",
			raw:  put("g3", `{"a":1}`, "Content-Encoding: identity\r\n", packed),
			want: `HTTP/1.1 415 .*"reason":"identity, gzip is not a supported content encoding."`,
		},
		{
			name: "attachment of two codings",
			raw:  put("g4/a", "x", packed, packed, text),
			want: `HTTP/1.1 415 .*"Only gzip and identity content-encodings are supported"`,
		},
		{name: "attachment that is no gzip", raw: put("ag/a", "nothing", packed, text), want: created},
		{
			name: "attachment of a bomb",
			raw:  put("ab/a", gzipped(t, "", "x", 100_000_000, ""), packed, text),
			want: created,
		},
		{name: "the bomb unpacked", raw: head("GET", a.db+"/ab/a", ""), want: "HTTP/1.1 200 "},
		{
			name: "the bomb as it is",
			raw:  head("GET", a.db+"/ab/a", "Accept-Encoding: gzip\r\n"),
			want: "HTTP/1.1 200 .*Content-Encoding: gzip\r\n",
		},
		{name: "long id", raw: post("/_bulk_docs", `{"docs":[{"_id":"`+long(2_000_000)+`"}]}`), want: created},
		{name: "long id, reading", raw: post("/_all_docs", `{"keys":["`+long(2_000_000)+`"]}`), want: "HTTP/1.1 200 "},
		{
			name: "long local id",
			raw:  post("/_bulk_docs", `{"docs":[{"_id":"_local/`+long(200_000)+`"}]}`),
			want: created,
		},
		{
			name: "long attachment name",
			raw:  put("an", `{"_attachments":{"`+long(200_000)+`":{"data":""}}}`),
			want: created,
		},
		{
			name: "long revision",
			raw:  post("/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"lr","_rev":"1-`+long(200_000)+`"}]}`),
			want: created,
		},
		{
			name: "long history",
			raw: post(
				"/_bulk_docs",
				`{"new_edits":false,"docs":[{"_id":"lh","_rev":"100000-a","_revisions":{"start":100000,"ids":["a",`+
					joined(99_999, func(i int) string { return fmt.Sprintf(`"b%d"`, i) })+`]}}]}`,
			),
			want: created,
		},
		{
			name: "deep revision",
			raw:  post("/_bulk_docs", fmt.Sprintf(`{"new_edits":false,"docs":[{"_id":"dr","_rev":"%d-a"}]}`, int64(1<<62))),
			want: created,
		},
		{
			name: "deeper revision",
			raw:  put("dr?rev=4611686018427387904-a", `{}`),
			want: created + `.*"rev":"4611686018427387905-`,
		},
		{
			name: "revision beyond 64 bits",
			raw:  put("rb?rev=9223372036854775808-a", `{}`),
			own:  true,
			want: `HTTP/1.1 400 .*"Invalid rev format"`,
		},
		{
			name: "start beyond",
			raw: post(
				"/_bulk_docs",
				fmt.Sprintf(
					`{"new_edits":false,"docs":[{"_id":"sb","_revisions":{"start":%d,"ids":["a"]}}]}`,
					int64(math.MaxInt64),
				),
			),
			own:  true,
			want: `HTTP/1.1 400 .*isn't an integer`,
		},
		{
			name: "more ids than depth",
			raw: post(
				"/_bulk_docs",
				`{"new_edits":false,"docs":[{"_id":"mi","_revisions":{"start":1,"ids":["a","b","c"]}}]}`,
			),
			want: created,
		},
		{
			name: "equal ids",
			raw: post(
				"/_bulk_docs",
				`{"new_edits":false,"docs":[{"_id":"ei","_revisions":{"start":3,"ids":["a","a","a"]}}]}`,
			),
			want: created,
		},
	})
}

// related makes a multipart/related body: the document, parts, and what ends it.
func related(doc, end string, parts ...string) string {
	var b strings.Builder
	b.WriteString("--b\r\nContent-Type: application/json\r\n\r\n" + doc)
	for _, p := range parts {
		b.WriteString("\r\n--b\r\nContent-Disposition: attachment; filename=\"a\"\r\n\r\n" + p)
	}
	return b.String() + end
}

func TestHostileMultipart(t *testing.T) {
	a := newAbused(t)
	typed := func(id, contentType, body string) string {
		return withBody("PUT", a.db+"/"+id, "Content-Type: multipart/related; "+contentType+"\r\n", body)
	}
	put := func(id, body string) string { return typed(id, `boundary="b"`, body) }
	doc := func(length string) string {
		return `{"_attachments":{"a":{"follows":true,"content_type":"text/plain","length":` + length + `}}}`
	}
	const end = "\r\n--b--"
	many := func(n int) (parts []string) {
		for range n {
			parts = append(parts, "z")
		}
		return parts
	}
	crash := "HTTP/1.1 500 "
	shorter, longer := `HTTP/1.1 400 .*"attachment shorter than expected"`, `HTTP/1.1 400 .*"attachment longer than expected"`
	a.run([]attack{
		{name: "as it should be", raw: put("ok", related(doc("3"), end, "abc")), want: created},
		{name: "length too small", raw: put("ls", related(doc("2"), end, "abc")), want: longer},
		{name: "length too large", raw: put("ll", related(doc("30"), end, "abc")), want: shorter},
		{name: "negative length", raw: put("ln", related(doc("-3"), end, "abc")), want: "HTTP/1.1 400 "},
		{
			name: "huge length",
			raw:  put("lh", related(doc("9223372036854775807"), end, "abc")),
			want: tooLarge + `.*"attachment_too_large"`,
		},
		{
			name: "length beyond 64 bits",
			raw:  put("lb", related(doc("99999999999999999999999"), end, "abc")),
			own:  true,
			want: "HTTP/1.1 400 ",
		},
		{name: "no end", raw: put("ne", related(doc("3"), "", "abc")), own: true, want: crash}, // CouchDB takes it
		{
			name: "connection ends",
			raw: head(
				"PUT",
				a.db+"/ce",
				"Content-Type: multipart/related; boundary=\"b\"\r\nContent-Length: 500\r\n",
			) + related(
				doc("3"),
				"",
				"ab",
			),
			broke: true,
			own:   true,
			want:  "",
		},
		{name: "part missing", raw: put("pm", related(doc("3"), end)), want: shorter},
		{name: "part too many", raw: put("pt", related(doc("3"), end, "abc", "def")), want: created},
		{name: "no boundary", raw: typed("nb", "a=b", related(doc("3"), end, "abc")), want: crash},
		{name: "other boundary", raw: typed("ob", "boundary=zz", related(doc("3"), end, "abc")), want: crash},
		{name: "empty boundary", raw: typed("eb", `boundary=""`, related(doc("3"), end, "abc")), want: "HTTP/1.1 400 "},
		{
			name: "long boundary",
			raw:  typed("lo", `boundary="`+strings.Repeat("b", 7000)+`"`, related(doc("3"), end, "abc")),
			want: crash,
		},
		{
			name: "thousands of parts",
			raw: put(
				"tp",
				related(
					`{"_attachments":{`+joined(
						5000,
						func(i int) string { return fmt.Sprintf(`"a%d":{"follows":true,"length":1}`, i) },
					)+`}}`,
					end,
					many(5000)...),
			),
			want: created,
		},
		// CouchDB hangs
		{name: "thousands too many", raw: put("tm", related(`{}`, end, many(5000)...)), own: true, want: created},
		{name: "no JSON", raw: put("nj", related("{nope", end, "abc")), want: badJSON},
		{name: "nothing", raw: put("no", ""), want: crash},
		{
			name: "long part header",
			raw: put(
				"lp",
				strings.Replace(related(doc("3"), end, "abc"), "filename", "filename="+strings.Repeat("y", 200_000), 1),
			),
			own:  true,
			want: "(HTTP/1.1 400 )?",
		},
		{
			name: "long preamble",
			raw:  put("pr", strings.Repeat("x", 1_000_000)+"\r\n"+related(doc("3"), end, "abc")),
			want: created,
		},
		{
			name: "wrong digest",
			raw: put(
				"wd",
				related(
					strings.Replace(doc("3"), `"length"`, `"digest":"md5-AAAAAAAAAAAAAAAAAAAAAA==","length"`, 1),
					end,
					"abc",
				),
			),
			want: crash,
		},
		{name: "nothing follows", raw: withBody("PUT", a.db+"/nf", "", doc("3")), want: crash + `.*"function_clause"`},
		{
			name: "nothing follows in _bulk_docs",
			raw:  withBody("POST", a.db+"/_bulk_docs", "", `{"docs":[`+doc("3")+`]}`),
			want: crash,
		},
		{
			name: "stub of nothing",
			raw:  withBody("PUT", a.db+"/sn", "", `{"_attachments":{"a":{"stub":true}}}`),
			want: `HTTP/1.1 412 .*"missing_stub"`,
		},
		{
			name: "no base64",
			raw:  withBody("PUT", a.db+"/n6", "", `{"_attachments":{"a":{"data":"!!!"}}}`),
			want: "HTTP/1.1 400 ",
		},
		{
			name: "huge revpos",
			raw: withBody(
				"PUT",
				a.db+"/hr",
				"",
				`{"_attachments":{"a":{"data":"YQ==","revpos":1180591620717411303424}}}`,
			),
			want: created,
		},
	})
	for _, id := range strings.Fields("ls ll ln lh lb ne ce pm nb ob eb lo nj no lp wd nf sn n6") {
		if r := a.c.do("GET", a.db+"/"+id, ""); a.s != nil && r.Status != 404 {
			t.Errorf("%s: %d %s", id, r.Status, r.Body)
		}
	}
}

func TestHostileNumbersAndLists(t *testing.T) {
	a := newAbused(t)
	a.c.put(a.db[1:], "a", `{}`)
	get := func(path string) string { return head("GET", a.db+path, "") }
	post := func(path, body string) string { return withBody("POST", a.db+path, "", body) }
	const ok, bad, max, beyond = "HTTP/1.1 200 ", "HTTP/1.1 400 ", "9223372036854775807", "9223372036854775808"
	tooMany := bad + `.*"query_parse_error","reason":"Limit is too large, must not exceed 576460752303423487"`
	same := func(text string) string { return joined(10_000, func(int) string { return text }) }
	each := func(n int, format string) string {
		return joined(n, func(i int) string { return fmt.Sprintf(format, i) })
	}
	a.run([]attack{
		{name: "limit", raw: get("/_all_docs?limit=" + max), want: tooMany},
		{name: "limit beyond", raw: get("/_all_docs?limit=" + beyond), want: tooMany},
		{name: "negative limit", raw: get("/_all_docs?limit=-1"), want: bad},
		{name: "skip", raw: get("/_all_docs?skip=" + max), want: ok + `.*"total_rows":1,"offset":1,"rows":\[\r\n`},
		{name: "skip beyond", raw: get("/_all_docs?skip=" + beyond), want: ok},
		{name: "skip backwards", raw: get("/_all_docs?descending=true&skip=" + max), want: ok},
		{name: "negative skip", raw: get("/_all_docs?skip=-1"), want: bad},
		{name: "limit of changes", raw: get("/_changes?limit=" + beyond), want: ok + `.*"pending":0`},
		{name: "negative limit of changes", raw: get("/_changes?limit=-1"), want: ok + `.*"id":"a"`},
		{name: "since beyond", raw: get("/_changes?since=" + beyond), want: bad + ".*Malformed sequence"},
		{name: "since of nothing", raw: get("/_changes?since=1-"), want: bad + ".*Malformed sequence"},
		{name: "long since", raw: get("/_changes?since=" + strings.Repeat("A", 5000)), want: bad},
		{name: "interval", raw: get("/_changes?seq_interval=" + beyond), want: ok},
		{name: "no interval", raw: get("/_changes?seq_interval=0"), want: bad},
		{name: "timeout", raw: get("/_changes?feed=longpoll&timeout=" + beyond), want: ok},
		{name: "heartbeat", raw: get("/_changes?feed=continuous&heartbeat=-1"), want: bad},
		{
			name: "count",
			raw:  head("GET", "/_uuids?count=99999999999999", ""),
			want: bad + ".*count parameter too large",
		},
		{name: "_bulk_get", raw: post("/_bulk_get", `{"docs":[`+same(`{"id":"a"}`)+`]}`), want: ok},
		{name: "_revs_diff", raw: post("/_revs_diff", `{`+each(10_000, `"d%d":["1-a"]`)+`}`), want: ok},
		{name: "_revs_diff of one", raw: post("/_revs_diff", `{"a":[`+each(10_000, `"%d-a"`)+`]}`), want: ok},
		{name: "_missing_revs", raw: post("/_missing_revs", `{`+each(10_000, `"d%d":["1-a"]`)+`}`), want: ok},
		{name: "keys", raw: post("/_all_docs", `{"keys":[`+same(`"a"`)+`]}`), want: ok},
		{name: "no keys", raw: post("/_all_docs", `{"keys":[`+same(`[{}]`)+`]}`), own: true, want: "HTTP/1.1 [24]00 "},
		{name: "doc_ids", raw: post("/_changes?filter=_doc_ids", `{"doc_ids":[`+same(`"a"`)+`]}`), want: ok},
		{
			name: "open_revs",
			raw:  get("/a?open_revs=[" + joined(1000, func(int) string { return "%221-a%22" })[:8000/9*9-1] + "]"),
			want: "HTTP/1.1 [24]00 ",
		},
		{
			name: "purge",
			raw:  post("/_purge", `{`+each(10_000, `"d%d":["1-a"]`)+`}`),
			want: "HTTP/1.1 201 ",
		},
		{
			name: "queries",
			raw:  post("/_all_docs/queries", `{"queries":[`+joined(1000, func(int) string { return "{}" })+`]}`),
			want: ok,
		},
		{
			name: "_dbs_info",
			raw:  withBody("POST", "/_dbs_info", "", `{"keys":[`+joined(101, func(int) string { return `"a"` })+`]}`),
			want: bad + ".*too_many_keys",
		},
		{name: "shards", raw: head("PUT", "/abused-q?q=0", ""), want: bad},
		{name: "range", raw: head("GET", a.db+"/a/none", "Range: bytes=0-"+beyond+"9\r\n"), want: notFound},
	})
}
