package js

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"

	"github.com/settee-db/settee/js/inspect"
	"github.com/settee-db/settee/js/script"
)

// eventFile is the name of the user's code in stacks.
const eventFile = "handler.js"

// eventProgram is an EventProgram in a worker.
type eventProgram struct {
	EventOptions
	refused   *EventSyntaxError // the rest is empty then
	program   *goja.Program
	constants []*goja.Program
	functions []string
	warnings  []string
	strict    bool // the code begins with 'use strict'
	// open: the code may change prototypes of its own functions, which are looked at after each
	// invocation then.
	open    bool
	release int           // the version of Couchbase whose rules hold, as 60501 for 6.5.1
	uses    [2]script.Use // of the parameters of OnUpdate, by their numbers

	realm *eventRealm // that the next invocation uses

	inspected *inspect.Program // of a program that is debugged
}

func (p *eventProgram) has(function string) bool { return slices.Contains(p.functions, function) }

// compileEvents parses and compiles a program, and checks what Couchbase demands of the code of a
// function. It does so on the tree, so that texts and comments are free.
func compileEvents(source []byte) (*eventProgram, error) {
	o, err := decodeEventOptions(source)
	if err != nil {
		return nil, err
	}
	p := &eventProgram{EventOptions: o, release: releaseOf(o.Compatibility)}
	p.open = strings.Contains(o.Code, "prototype")
	p.refused = p.compile()
	return p, nil
}

// releaseOf makes a number of a version; the newest if it is none.
func releaseOf(version string) int {
	var major, minor, patch int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 2 {
		return 70200
	}
	return major*10000 + minor*100 + patch
}

// compile compiles the constants and the code, and returns why the code is refused, nil if it is
// not. The rules are checked on the tree before it is compiled, because goja would compile what
// Couchbase refuses, and the uses of OnUpdate's parameters are found in the tree as it was
// written.
func (p *eventProgram) compile() *EventSyntaxError {
	for _, c := range p.Constants {
		program, err := compileConstant(c.Literal)
		if err != nil {
			what := "SyntaxError: the constant " + c.Name + " is no expression: " + err.Error()
			return &EventSyntaxError{Description: what}
		}
		p.constants = append(p.constants, program)
	}
	tree, err := parser.ParseFile(nil, eventFile, p.Code, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return p.syntaxError(err)
	}
	c := eventCheck{p: p, file: tree.File, methods: map[*ast.FunctionLiteral]bool{}}
	c.global(tree)
	script.Walk(tree, c.visit)
	if c.refused == nil {
		c.handlers()
	}
	if c.refused != nil {
		return c.refused
	}
	if p.uses = script.HandlerUses(tree, p.scope(), "OnUpdate"); p.Debug {
		for i := range p.uses { // who debugs may look at anything
			p.uses[i] = script.Use{Complete: true, Mentioned: true}
		}
		p.inspected = inspect.Instrument(tree, p.Code, p.HeaderLines)
	}
	if p.program, err = goja.CompileAST(tree, false); err != nil {
		return p.syntaxError(err)
	}
	return nil
}

// scope says which names are bindings, and of which kind.
func (p *eventProgram) scope() script.Scope {
	scope := script.Scope{Others: slices.Clone(p.Curls)}
	for _, b := range p.Bindings {
		scope.Databases = append(scope.Databases, b.Alias)
	}
	for _, k := range p.Constants {
		scope.Others = append(scope.Others, k.Name)
	}
	return scope
}

// compileConstant compiles the literal of a constant, which must be a single expression. Line
// breaks around it keep a comment at its end from hiding the closing parenthesis.
func compileConstant(literal string) (*goja.Program, error) {
	tree, err := parser.ParseFile(nil, "", "(\n"+literal+"\n)", 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, err
	}
	if len(tree.Body) != 1 {
		return nil, errors.New("it is more than one statement")
	}
	if _, ok := tree.Body[0].(*ast.ExpressionStatement); !ok {
		return nil, errors.New("it is a statement")
	}
	return goja.CompileAST(tree, true)
}

// startError is the answer to a program that compiles, but whose realm cannot be made.
func (p *eventProgram) startError(err error) *EventSyntaxError {
	return &EventSyntaxError{Description: err.Error()}
}

// syntaxError is the error of goja's parser or compiler.
func (p *eventProgram) syntaxError(err error) *EventSyntaxError {
	var list parser.ErrorList
	var single *parser.Error
	var compiling *goja.CompilerSyntaxError
	switch {
	case errors.As(err, &list) && len(list) > 0:
		return p.refuse(list[0].Position, list[0].Message)
	case errors.As(err, &single):
		return p.refuse(single.Position, single.Message)
	case errors.As(err, &compiling) && compiling.File != nil:
		return p.refuse(compiling.File.Position(compiling.Offset), compiling.Message)
	}
	return &EventSyntaxError{Description: "SyntaxError: " + err.Error()}
}

// refuse makes the error for a place in the code, in the user's lines.
func (p *eventProgram) refuse(at file.Position, message string) *EventSyntaxError {
	lines := strings.SplitAfter(p.Code, "\n")
	e := &EventSyntaxError{Line: max(0, at.Line-p.HeaderLines), Column: max(1, at.Column)}
	text := ""
	for i, line := range lines {
		switch {
		case i == at.Line-1:
			text = strings.TrimRight(line, "\r\n")
		case i < at.Line-1 && i >= p.HeaderLines:
			e.Index += len(line)
		}
	}
	before := min(e.Column-1, len(text))
	e.Index += before
	word := 0
	for word < len(text)-before && isWord(text[before+word]) {
		word++
	}
	indent := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, text[:before])
	if strings.HasPrefix(text[before:], "import") {
		message = "import is not available"
	}
	e.Description = text + "\n" + indent + strings.Repeat("^", max(1, word)) + "\nSyntaxError: " + message
	return e
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// eventCheck holds the code to the rules.
type eventCheck struct {
	p       *eventProgram
	file    *file.File
	methods map[*ast.FunctionLiteral]bool // functions that need no name of their own
	refused *EventSyntaxError
}

func (c *eventCheck) position(at file.Idx) file.Position {
	return c.file.Position(int(at) - c.file.Base())
}

func (c *eventCheck) refuse(at file.Idx, message string) {
	if c.refused == nil {
		c.refused = c.p.refuse(c.position(at), message)
	}
}

// maxWarnings bounds what is said about one program.
const maxWarnings = 50

func (c *eventCheck) warn(at file.Idx, message string) {
	if len(c.p.warnings) < maxWarnings {
		line := c.position(at).Line - c.p.HeaderLines
		c.p.warnings = append(c.p.warnings, fmt.Sprintf("line %d: %s", line, message))
	}
}

// provided are the functions that a program may use, and replace, with a warning.
var provided = []string{
	"couchbase", "log", "console", "createTimer", "cancelTimer", "docTimer", "nonDocTimer", "cronTimer", "curl", "crc64",
	"base64Encode", "base64Decode", "publish", "N1QL", "N1qlQuery", "KVError", "N1QLError", "EventingError", "CurlError",
}

// eventHandlers are the functions that the server calls by their names.
var eventHandlers = []string{"OnUpdate", "OnDelete", "OnDeploy", "OnUndeploy", "OnRequest"}

// global checks what stands at the global level: declarations of functions, and directives.
func (c *eventCheck) global(tree *ast.Program) {
	bound := map[string]bool{}
	for _, b := range c.p.Bindings {
		bound[b.Alias] = true
	}
	for _, b := range c.p.Constants {
		bound[b.Name] = true
	}
	for _, name := range c.p.Curls {
		bound[name] = true
	}
	prologue := true
	for _, s := range tree.Body {
		switch s := s.(type) {
		case *ast.EmptyStatement:
		case *ast.ExpressionStatement:
			directive, ok := s.Expression.(*ast.StringLiteral)
			if !ok {
				c.refuse(s.Idx0(), "Only functions allowed in global space, but found: ExpressionStatement")
				continue
			}
			c.p.strict = c.p.strict || prologue && directive.Value == "use strict"
			continue
		case *ast.FunctionDeclaration:
			name := s.Function.Name.Name.String()
			handler := slices.Contains(eventHandlers, name)
			switch {
			case bound[name]:
				c.refuse(s.Function.Name.Idx, "the function "+name+" has the name of a binding")
			case handler && c.p.has(name):
				c.refuse(s.Function.Name.Idx, "the handler "+name+" is declared twice")
			case slices.Contains(provided, name):
				c.warn(s.Function.Name.Idx, "the function "+name+" replaces a built-in function")
			}
			if !c.p.has(name) {
				c.p.functions = append(c.p.functions, name)
			}
		default:
			c.refuse(s.Idx0(), "Only functions allowed in global space, but found: "+kindOf(s))
		}
		prologue = false
	}
}

// kindOf names a statement as the usual trees of JavaScript do.
func kindOf(s ast.Statement) string {
	switch s.(type) {
	case *ast.VariableStatement, *ast.LexicalDeclaration:
		return "VariableDeclaration"
	}
	return reflect.TypeOf(s).Elem().Name()
}

// queryWords begin statements of queries, so that they are no names. It is the case that matters:
// published functions are called update and insert.
var queryWords = []string{"SELECT", "UPDATE", "DELETE", "UPSERT", "INSERT", "MERGE"}

var deprecated = map[string]string{
	"N1qlQuery":   "N1qlQuery is deprecated, use N1QL()",
	"docTimer":    "docTimer is deprecated, use createTimer()",
	"nonDocTimer": "nonDocTimer is deprecated, use createTimer()",
	"cronTimer":   "cronTimer is deprecated, use createTimer()",
}

// visit checks one node of the tree.
func (c *eventCheck) visit(node ast.Node) {
	const noAsync = "async functions and await are not available, an invocation ends with its handler; use createTimer()"
	switch n := node.(type) {
	case *ast.Identifier:
		name := n.Name.String()
		c.name(name, n.Idx)
		if text := deprecated[name]; text != "" && !c.p.has(name) {
			c.warn(n.Idx, text)
		}
	case *ast.PropertyShort:
		c.name(n.Name.Name.String(), n.Name.Idx)
	case *ast.AwaitExpression:
		c.refuse(n.Idx0(), noAsync)
	case *ast.MethodDefinition:
		c.methods[n.Body] = true
	case *ast.PropertyKeyed:
		if f, ok := n.Value.(*ast.FunctionLiteral); ok && n.Kind != ast.PropertyKindValue {
			c.methods[f] = true
		}
	case *ast.FunctionLiteral:
		if n.Async {
			c.refuse(n.Idx0(), noAsync)
		}
		if n.Name == nil && !c.methods[n] {
			c.anonymous(n.Idx0())
		}
	case *ast.ArrowFunctionLiteral:
		if n.Async {
			c.refuse(n.Idx0(), noAsync)
		}
		c.anonymous(n.Idx0())
	}
}

func (c *eventCheck) name(name string, at file.Idx) {
	if slices.Contains(queryWords, name) {
		c.refuse(at, name+" begins a statement of a query, it cannot be a name")
	}
}

// anonymous functions were forbidden once; published functions use them for callbacks, so they are
// only told.
func (c *eventCheck) anonymous(at file.Idx) {
	c.warn(at, "an anonymous function; it lives no longer than the invocation")
}

// handlers demands what the server calls: at least one handler of documents, as Couchbase does,
// unless something else calls a function, and the functions of Calls.
func (c *eventCheck) handlers() {
	for _, name := range c.p.Calls {
		if !c.p.has(name) {
			c.refused = &EventSyntaxError{Description: "SyntaxError: there is no function " + name +
				"() in the code, which a schedule calls"}
		}
	}
	if len(c.p.Calls) == 0 && !c.p.has("OnUpdate") && !c.p.has("OnDelete") && !c.p.has("OnRequest") {
		c.refused = &EventSyntaxError{
			Description: "SyntaxError: Handler code is missing OnUpdate() and OnDelete() functions. " +
				"At least one of them is needed to deploy the handler",
		}
	}
}
