package js

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// FuzzFrame reads arbitrary bytes as frames: no panic, no more memory than arrived, and what is
// read is written the same.
func FuzzFrame(f *testing.F) {
	var seed bytes.Buffer
	require.NoError(f, writeFrame(&seed, frameCall, []byte{byte(commandMap)}, []byte("abc")))
	f.Add(seed.Bytes())
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 'r'})
	f.Add([]byte{0x0f, 0xff, 0xff, 0xff, 'c', 1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			at := len(data) - r.Len()
			fr, err := readFrame(r)
			if err != nil {
				return
			}
			var again bytes.Buffer
			require.NoError(t, writeFrame(&again, fr.kind, fr.payload))
			require.Equal(t, data[at:len(data)-r.Len()], again.Bytes())
		}
	})
}

// FuzzPayload decodes arbitrary bytes as what workers and callers send.
func FuzzPayload(f *testing.F) {
	var e encoder
	e.uint(1)
	encodeMapResult(&e, []Emitted{{Key: []byte("1"), Value: []byte("null")}}, "text")
	f.Add(e.b)
	f.Add(encodeError(compat.Named(compat.KindUnknown, "name", "reason")))
	f.Add(NewMapProgram("db", []string{"function(doc){}"}, []byte(`{"a":"1"}`)).encoded)
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(_ *testing.T, data []byte) {
		d := decoder{b: data}
		for len(d.b) > 0 {
			decodeDocResult(&d)
		}
		d = decoder{b: data}
		for len(d.b) > 0 {
			decodeReduceResult(&d, "")
		}
		d = decoder{b: data}
		d.list()
		_ = decodeError(data)
		_, _ = decodeMapProgram(data)
		_, _ = runReduceGroups(data)
	})
}

// runReduceGroups reads groups of a reduce call without running a function.
func runReduceGroups(data []byte) (int, error) {
	d := decoder{b: data}
	n := 0
	for groups := d.count(); groups > 0 && d.err == nil; groups-- {
		d.bool()
		for rows := d.count(); rows > 0 && d.err == nil; rows-- {
			d.bytes()
			n++
		}
	}
	return n, d.err
}

// FuzzDecodeEventResult decodes arbitrary bytes as what a worker sends while it runs events, and as
// what it is sent.
func FuzzDecodeEventResult(f *testing.F) {
	var e encoder
	encodeEventResult(&e, &EventResult{
		Outcome: EventDone, Took: 5, Logs: []string{"a"}, Counters: map[string]int64{"n": 1},
		Lines: []EventLine{{Line: 3, Calls: 1, LastLog: "a"}},
		Effects: []EventEffect{
			{Kind: EffectSet, Database: "d", ID: "a", Body: []byte("{}"), Expiry: 7, SelfRecursion: true},
			{Kind: EffectDelete, Database: "d", ID: "a"},
			{Kind: EffectCreateTimer, Callback: "c", Reference: "r", Due: 9, Context: []byte("1")},
			{Kind: EffectCancelTimer, Callback: "c", Reference: "r"},
		},
	})
	encodeEventResult(&e, &EventResult{Outcome: EventFailed, Failure: &EventFailure{Name: "Error", Line: 1, Column: 2}})
	f.Add(e.b)
	f.Add(encodeSyntaxError(&EventSyntaxError{Index: 1, Line: 2, Column: 3, Description: "x"}))
	for _, what := range []byte{askGet, askTimer, askFlush, askQuery, askRows, askClose, askCurl} {
		f.Add([]byte{what, 1, 1, 1, 'a', 1, 'b', 0})
	}
	program := NewEventProgram(eventOptions("function OnUpdate() {}"))
	f.Add(program.encoded)
	e.b = nil
	encodeEvents(&e, []Event{{
		Kind: EventTimer, Callback: "c", Context: []byte("1"),
		Refusals: []EventRefusal{{"d", "a", EventError{Name: "n"}}},
	}})
	f.Add(e.b)
	f.Fuzz(func(t *testing.T, data []byte) {
		d := decoder{b: data}
		for len(d.b) > 0 {
			r := decodeEventResult(&d)
			if d.err != nil {
				break
			}
			require.LessOrEqual(t, len(r.Effects), maxEventEffects)
			var again encoder
			encodeEventResult(&again, r)
			back := decoder{b: again.b}
			require.Equal(t, r, decodeEventResult(&back))
			require.NoError(t, back.err)
			require.Empty(t, back.b)
		}
		_ = decodeSyntaxError(data)
		_, _ = decodeEventOptions(data)
		_, _ = program.answer(t.Context(), newEventHost(), time.Millisecond, data)
		d = decoder{b: data}
		for n := d.count(); n > 0 && d.err == nil; n-- {
			decodeEvent(&d)
		}
	})
}

// FuzzEventSource holds arbitrary code to the rules for event functions; what is refused has a
// place inside the code.
func FuzzEventSource(f *testing.F) {
	for _, s := range []string{
		"function OnUpdate(doc, meta) {}", "function OnUpdate(doc) {\n\tvar é = ;\n}", "async function f() {}", "import('x')",
		"function OnUpdate({a}, ...b) { SELECT: for (;;) {} }", "class A { #p; get [x]() {} static {} }", "`${", "\r\n\u2028}",
		"function OnUpdate() { Own.prototype = 1 }\nfunction dst() {}", "'use strict'; 010", "\xff(",
	} {
		f.Add(s, 0, "1")
		f.Add(s, 1, "{a: ")
	}
	f.Fuzz(func(t *testing.T, code string, headers int, literal string) {
		if len(code) > 2000 || len(literal) > 200 {
			return
		}
		o := eventOptions(code)
		o.HeaderLines = headers
		o.Constants = append(o.Constants, EventConstant{"c", literal})
		program, err := compileEvents(NewEventProgram(o).encoded)
		require.NoError(t, err)
		if r := program.refused; r != nil {
			require.NotEmpty(t, r.Description)
			require.LessOrEqual(t, r.Index, len(o.Code))
			require.GreaterOrEqual(t, r.Index, 0)
			require.Equal(t, r, decodeSyntaxError(encodeSyntaxError(r)))
			return
		}
		require.True(t, program.has("OnUpdate") || program.has("OnDelete"))
	})
}

// FuzzValue takes JSON into a realm and out again: it stays what it is, but for numbers, which JavaScript rounds.
func FuzzValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"é\u0000",null,true,{}],"b":{"1":2,"0":3}}`, `"\ud800"`, `[[[[]]]]`, `{"__proto__":1,"constructor":2,"toString":3}`, `1e400`, `12345678901234567890`, `-0`, `5e-324`} {
		f.Add([]byte(s))
	}
	w := newWorker(&bytes.Buffer{})
	s, err := w.newSandbox(nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.ContainsAny(data, "0123456789") && bytes.ContainsAny(data, ".eE-") || len(data) > 1000 {
			return
		}
		want, err := ejson.Parse(bytes.Clone(data))
		if err != nil || strings.Count(string(data), "[")+strings.Count(string(data), "{") > 200 {
			return
		}
		for _, frozen := range []bool{false, true} {
			v, err := s.parse(data, frozen)
			require.NoError(t, err)
			got, err := s.appendJSON(nil, v, 0)
			require.NoError(t, err)
			if !bytes.ContainsAny(data, "0123456789") {
				require.Equal(t, string(want.AppendJSON(nil)), string(got))
			}
		}
	})
}
