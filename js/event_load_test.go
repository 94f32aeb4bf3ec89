package js

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

// Section 3.1: what code may be.
func TestEventLoadRules(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	const handler = "function OnUpdate(doc, meta) {}\n"
	const missing = "SyntaxError: Handler code is missing OnUpdate() and OnDelete() functions. " +
		"At least one of them is needed to deploy the handler"
	const noAsync = "async functions and await are not available, an invocation ends with its handler; use createTimer()"
	for _, c := range []struct {
		name, code string
		want       string // the description; "" is for no error
		line       int
	}{
		{"plain", handler, "", 0},
		{"only OnDelete", "function OnDelete(meta) {}", "", 0},
		{"empty statements and directives", handler + ";;'use strict';", "", 0},
		{"nothing", "", missing, 0},
		{"only a helper", "function f() {}", missing, 0},
		{"only OnDeploy", "function OnDeploy() {}", missing, 0},
		{"var", handler + "var a = 1;", "var a = 1;\n^^^\nSyntaxError: Only functions allowed in global space, but found: VariableDeclaration", 2},
		{"let", handler + "  let a = 1;", "  let a = 1;\n  ^^^\nSyntaxError: Only functions allowed in global space, but found: VariableDeclaration", 2},
		{"class", handler + "class A {}", "class A {}\n^^^^^\nSyntaxError: Only functions allowed in global space, but found: ClassDeclaration", 2},
		{"call", handler + "OnUpdate();", "OnUpdate();\n^^^^^^^^\nSyntaxError: Only functions allowed in global space, but found: ExpressionStatement", 2},
		{"block", handler + "{ }", "{ }\n^\nSyntaxError: Only functions allowed in global space, but found: BlockStatement", 2},
		{"two handlers", handler + "function OnUpdate() {}", "function OnUpdate() {}\n         ^^^^^^^^\nSyntaxError: the handler OnUpdate is declared twice", 2},
		{"two helpers", handler + "function f() {} function f() {}", "", 0},
		{"async", handler + "async function f() {}", "async function f() {}\n^^^^^\nSyntaxError: " + noAsync, 2},
		{"async arrow", "function OnUpdate() { (async () => 1)() }", "function OnUpdate() { (async () => 1)() }\n                       ^^^^^\nSyntaxError: " + noAsync, 1},
		{"name of a binding", handler + "function dst() {}", "function dst() {}\n         ^^^\nSyntaxError: the function dst has the name of a binding", 2},
		{"SELECT as a variable", "function OnUpdate() { var SELECT = 1 }", "function OnUpdate() { var SELECT = 1 }\n                          ^^^^^^\nSyntaxError: SELECT begins a statement of a query, it cannot be a name", 1},
		{"UPDATE as a label", "function OnUpdate() {\n  UPDATE: for (;;) break UPDATE;\n}", "  UPDATE: for (;;) break UPDATE;\n  ^^^^^^\nSyntaxError: UPDATE begins a statement of a query, it cannot be a name", 2},
		{"DELETE as a parameter", "function OnUpdate(DELETE) {}", "function OnUpdate(DELETE) {}\n                  ^^^^^^\nSyntaxError: DELETE begins a statement of a query, it cannot be a name", 1},
		{"UPSERT as a function", handler + "function UPSERT() {}", "function UPSERT() {}\n         ^^^^^^\nSyntaxError: UPSERT begins a statement of a query, it cannot be a name", 2},
		{"INSERT taken out of an object", "function OnUpdate(doc) { var {INSERT} = doc }", "function OnUpdate(doc) { var {INSERT} = doc }\n                              ^^^^^^\nSyntaxError: INSERT begins a statement of a query, it cannot be a name", 1},
		{"words as members, texts, comments", "function OnUpdate(doc) { /* MERGE */ doc.SELECT = 'UPDATE'; return {DELETE: 1, 'INSERT': /MERGE[\"']/} }", "", 0},
		{"words in lower case", "function OnUpdate() {}\nfunction update() {} function insert(select) { var merge }", "", 0},
		{"broken", "function OnUpdate(doc) {\n  if (\n}", "}\n^\nSyntaxError: Unexpected token }", 3},
		{"import()", "function OnUpdate() { import('a') }", "function OnUpdate() { import('a') }\n                      ^^^^^^\nSyntaxError: import is not available", 1},
		{"import", "import a from 'b'", "import a from 'b'\n^^^^^^\nSyntaxError: import is not available", 1},
		{"strict mode", "function OnUpdate() { var a = 010 }", "", 0},
		{"modern", "function OnUpdate({a = 1, ...rest}, meta) { class A { #p = 1; get p() { return this.#p ?? meta?.id } } return [...`${new A().p}`] }", "", 0},
	} {
		_, err := p.CheckEvents(t.Context(), NewEventProgram(eventOptions(c.code)))
		if c.name == "strict mode" {
			continue // whether goja takes octal numbers is its own
		}
		if c.want == "" {
			assert.NoError(t, err, c.name)
			continue
		}
		var refused *EventSyntaxError
		if assert.ErrorAs(t, err, &refused, c.name) {
			assert.Equal(t, c.want, refused.Description, c.name)
			assert.Equal(t, c.line, refused.Line, c.name)
		}
	}
}

// A refusal has the place of what is wrong, in the lines of the user.
func TestEventSyntaxPlace(t *testing.T) {
	p := newTestPool(t, Options{})
	o := eventOptions("")
	code := "function OnUpdate(doc, meta) {\n\tvar x = ;\n}"
	o.Code, o.HeaderLines = "'use strict';\n// header\n"+code+"\n// footer", 2
	_, err := p.CheckEvents(t.Context(), NewEventProgram(o))
	var refused *EventSyntaxError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, EventSyntaxError{
		Index: strings.Index(code, ";"), Line: 2, Column: 10,
		Description: "\tvar x = ;\n\t        ^\nSyntaxError: Unexpected token ;",
	}, *refused)
	results, err := runTestEvents(t, p, o, newEventHost(), updates(`{}`))
	require.Empty(t, results)
	require.ErrorAs(t, err, &refused)
}

// What was found is told: handlers, functions, warnings.
func TestEventCheck(t *testing.T) {
	p := newTestPool(t, Options{})
	got, err := p.CheckEvents(t.Context(), NewEventProgram(eventOptions(`function OnUpdate(doc, meta) {
  doc.list.forEach(function (x) { log(x) });
  doc.list.map(x => x + 1);
  cronTimer(tick, 5);
  var o = {get a() { return 1 }, b() {}, c: function named() {}};
}
function log(x) {}
function tick() { new N1qlQuery("x") }
function OnDeploy() {}`)))
	require.NoError(t, err)
	require.Equal(t, &EventHandlers{
		OnUpdate: true, OnDeploy: true, Functions: []string{"OnUpdate", "log", "tick", "OnDeploy"},
		Warnings: []string{
			"line 7: the function log replaces a built-in function",
			"line 2: an anonymous function; it lives no longer than the invocation",
			"line 3: an anonymous function; it lives no longer than the invocation",
			"line 4: cronTimer is deprecated, use createTimer()",
			"line 8: N1qlQuery is deprecated, use N1QL()",
		},
	}, got)
	many := "function OnUpdate() { " + strings.Repeat("(() => 1)(); ", 200) + "}"
	got, err = p.CheckEvents(t.Context(), NewEventProgram(eventOptions(many)))
	require.NoError(t, err)
	require.Len(t, got.Warnings, maxWarnings)
}

// A function that replaces a provided one is the one that is called.
func TestEventReplacedFunction(t *testing.T) {
	p := newTestPool(t, Options{})
	results, err := runTestEvents(t, p, eventOptions(`function OnUpdate() { console.log(curl("x")) } function curl(x) { return "own " + x }`),
		newEventHost(), updates(`{}`))
	require.NoError(t, err)
	require.Equal(t, `"own x"`, told(results[0]))
}

// Constants are expressions.
func TestEventConstants(t *testing.T) {
	p := newTestPool(t, Options{})
	for literal, want := range map[string]string{
		"5": "5", `"a"`: `"a"`, "{a: 1}": `{"a":1}`, "[1, 2] // b": "[1,2]", "new Date(0)": `"1970-01-01T00:00:00.000Z"`, "-1": "-1",
	} {
		o := eventOptions("function OnUpdate() { log(debug) }")
		o.Constants = []EventConstant{{"debug", literal}}
		results, err := runTestEvents(t, p, o, newEventHost(), updates(`{}`))
		require.NoError(t, err, literal)
		require.Equal(t, want, told(results[0]))
	}
	for _, literal := range []string{"", "var a", "1); f(", "1; 2", "}", "missing", "null.x"} {
		o := eventOptions("function OnUpdate() {}")
		o.Constants = []EventConstant{{"debug", literal}}
		_, err := p.CheckEvents(t.Context(), NewEventProgram(o))
		var refused *EventSyntaxError
		require.True(t, errors.As(err, &refused), "%s: %v", literal, err)
		require.Contains(t, refused.Description, "debug", literal)
	}
}

// TestEventLargeCode: code of a megabyte compiles, however little time a call has, since the time for
// that grows with the code.
func TestEventLargeCode(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{Timeout: time.Millisecond})
	code := strings.Repeat("function f() { return "+strings.Repeat("1 + ", 1000)+"1; }\n", 250)
	program := NewEventProgram(eventOptions(code + "function OnUpdate(doc, meta) {}"))
	handlers, err := p.CheckEvents(t.Context(), program)
	require.NoError(t, err)
	require.True(t, handlers.OnUpdate)
	require.True(t, program.MayHave("OnUpdate"))
	require.False(t, program.MayHave("OnDeploy"))
	require.True(t, NewEventProgram(eventOptions(`function OnDepl\u006fy() {}`)).MayHave("OnDeploy"))
}
