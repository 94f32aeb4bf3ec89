package inspect

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"github.com/settee-db/settee/js/script"
)

// Names of the functions that marks call, and of what they bind. No source can have them: they are no
// identifiers.
const (
	nameMark   unistring.String = " mark"
	nameCaught unistring.String = " caught"
	nameThis   unistring.String = " this"
	nameValue  unistring.String = " value"
	nameThrown unistring.String = " thrown"
)

// Program is the code of a function with marks before its statements. It is immutable.
type Program struct {
	source string // the user's lines
	file   *file.File
	header int // lines before the user's first one
	marks  []mark
	scopes []*scope // in the order of their beginnings, outer ones first
	told   int      // names of variables that marks tell, together
}

// mark is a place where the program can stop.
type mark struct {
	line, column int    // of the user's code, the first ones are 0
	scope        *scope // the innermost one
	function     *scope
	isDebugger   bool // a statement debugger
	guarded      bool // the function catches what is thrown here
}

// scope is a part of the code that has names of its own.
type scope struct {
	kind       string // local (of a function), block, catch
	name       string // of a function
	names      []string
	guarded    bool // it is the block of a try with catch
	begin, end file.Idx
	outer      *scope
}

// lists are the statements of a tree that get marks: before those of lists, and around single ones.
type lists struct {
	many    []*[]ast.Statement
	single  []*ast.Statement
	bodies  map[*ast.BlockStatement]map[string]bool // of functions: the names that parameters and var bind
	guarded map[*ast.BlockStatement]bool            // of try with catch
	methods map[*ast.FunctionLiteral]string
}

// Instrument puts marks into the tree of a program whose text is code; the first header lines are not
// the user's and get none. Positions stay as they are.
func Instrument(tree *ast.Program, code string, header int) *Program {
	lines := strings.SplitAfterN(code, "\n", header+1)
	p := &Program{source: lines[len(lines)-1], file: tree.File, header: header}
	l := &lists{
		bodies: map[*ast.BlockStatement]map[string]bool{}, guarded: map[*ast.BlockStatement]bool{},
		methods: map[*ast.FunctionLiteral]string{},
	}
	script.Walk(tree, func(n ast.Node) { p.look(n, l) })
	p.nest()
	for _, list := range l.many {
		*list = p.marked(*list)
	}
	for _, s := range l.single {
		if _, block := (*s).(*ast.BlockStatement); !block {
			at := (*s).Idx0()
			*s = &ast.BlockStatement{LeftBrace: at, List: p.marked([]ast.Statement{*s}), RightBrace: at}
		}
	}
	for b := range l.guarded {
		b.List = []ast.Statement{rethrowing(b, b.List)}
	}
	for b, names := range l.bodies {
		watchBody(b, names)
	}
	return p
}

// nest sorts the scopes and tells each the one around it. They lie one in another or apart.
func (p *Program) nest() {
	slices.SortStableFunc(p.scopes, func(a, b *scope) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(b.end, a.end))
	})
	var open *scope
	for _, s := range p.scopes {
		s.outer = open.at(s.begin)
		open = s
	}
}

// at is the innermost of a scope and those around it that has a place, nil for none.
func (s *scope) at(place file.Idx) *scope {
	for s != nil && place >= s.end {
		s = s.outer
	}
	return s
}

// scopeAt is the innermost scope of a place, nil for none: the last one that begins before it, or one
// around that.
func (p *Program) scopeAt(place file.Idx) *scope {
	after := sort.Search(len(p.scopes), func(i int) bool { return p.scopes[i].begin > place })
	if after == 0 {
		return nil
	}
	return p.scopes[after-1].at(place)
}

// look notes what a node has of names and statements.
func (p *Program) look(n ast.Node, l *lists) {
	add := func(kind, name string, of ast.Node, names []string) *scope {
		s := &scope{kind: kind, name: name, names: names, begin: of.Idx0(), end: of.Idx1()}
		p.scopes = append(p.scopes, s)
		return s
	}
	switch n := n.(type) {
	case *ast.MethodDefinition:
		if key, ok := n.Key.(*ast.StringLiteral); ok {
			l.methods[n.Body] = key.Value.String()
		}
	case *ast.FunctionLiteral:
		name := l.methods[n]
		if n.Name != nil {
			name = n.Name.Name.String()
		}
		names := functionNames(n.ParameterList, n.DeclarationList)
		l.bodies[n.Body] = set(names)
		add("local", name, n, append(names, declared(n.Body.List)...))
	case *ast.ArrowFunctionLiteral:
		names := functionNames(n.ParameterList, n.DeclarationList)
		if body, ok := n.Body.(*ast.BlockStatement); ok {
			l.bodies[body] = set(names)
			names = append(names, declared(body.List)...)
		}
		add("local", "", n, names)
	case *ast.BlockStatement:
		l.many = append(l.many, &n.List)
		if l.bodies[n] == nil {
			add("block", "", n, declared(n.List)).guarded = l.guarded[n]
		}
	case *ast.SwitchStatement:
		var names []string
		for _, c := range n.Body {
			names = append(names, declared(c.Consequent)...)
		}
		add("block", "", n, names)
	case *ast.CaseStatement:
		l.many = append(l.many, &n.Consequent)
	case *ast.CatchStatement:
		add("catch", "", n, bound(nil, n.Parameter))
	case *ast.TryStatement:
		if n.Catch != nil {
			l.guarded[n.Body] = true
		}
	case *ast.IfStatement:
		l.single = append(l.single, &n.Consequent)
		if n.Alternate != nil {
			l.single = append(l.single, &n.Alternate)
		}
	default:
		p.lookAtLoop(n, l, add)
	}
}

// lookAtLoop is look for loops and with.
func (p *Program) lookAtLoop(n ast.Node, l *lists, add func(kind, name string, of ast.Node, names []string) *scope) {
	switch n := n.(type) {
	case *ast.ForStatement:
		l.single = append(l.single, &n.Body)
		if i, ok := n.Initializer.(*ast.ForLoopInitializerLexicalDecl); ok {
			var names []string
			for _, b := range i.LexicalDeclaration.List {
				names = bound(names, b.Target)
			}
			add("block", "", n, names)
		}
	case *ast.ForInStatement:
		l.single = append(l.single, &n.Body)
		if d, ok := n.Into.(*ast.ForDeclaration); ok {
			add("block", "", n, bound(nil, d.Target))
		}
	case *ast.ForOfStatement:
		l.single = append(l.single, &n.Body)
		if d, ok := n.Into.(*ast.ForDeclaration); ok {
			add("block", "", n, bound(nil, d.Target))
		}
	case *ast.WhileStatement:
		l.single = append(l.single, &n.Body)
	case *ast.DoWhileStatement:
		l.single = append(l.single, &n.Body)
	case *ast.WithStatement:
		l.single = append(l.single, &n.Body)
	}
}

func set(names []string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}

// functionNames are the names that parameters and var bind; of var some more than once.
func functionNames(parameters *ast.ParameterList, vars []*ast.VariableDeclaration) (names []string) {
	if parameters != nil {
		for _, b := range parameters.List {
			names = bound(names, b.Target)
		}
		names = bound(names, parameters.Rest)
	}
	for _, v := range vars {
		for _, b := range v.List {
			names = bound(names, b.Target)
		}
	}
	return names
}

// declared are the names that let, const, class and function bind in a list of statements.
func declared(list []ast.Statement) (names []string) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.LexicalDeclaration:
			for _, b := range s.List {
				names = bound(names, b.Target)
			}
		case *ast.ClassDeclaration:
			names = bound(names, s.Class.Name)
		case *ast.FunctionDeclaration:
			names = bound(names, s.Function.Name)
		}
	}
	return names
}

// bound appends the names that a pattern binds.
func bound(names []string, target ast.Node) []string {
	switch t := target.(type) {
	case *ast.Identifier:
		names = append(names, t.Name.String())
	case *ast.AssignExpression:
		names = bound(names, t.Left)
	case *ast.Binding:
		names = bound(names, t.Target)
	case *ast.PropertyShort:
		names = bound(names, &t.Name)
	case *ast.PropertyKeyed:
		names = bound(names, t.Value)
	case *ast.ObjectPattern:
		for _, property := range t.Properties {
			names = bound(names, property)
		}
		names = bound(names, t.Rest)
	case *ast.ArrayPattern:
		for _, e := range t.Elements {
			names = bound(names, e)
		}
		names = bound(names, t.Rest)
	}
	return names
}

// marked puts a mark before each statement but directives and what is hoisted.
func (p *Program) marked(list []ast.Statement) []ast.Statement {
	out := make([]ast.Statement, 0, 2*len(list))
	prologue := true
	for _, s := range list {
		prologue = prologue && isDirective(s)
		if !prologue {
			if m := p.mark(s); m != nil {
				out = append(out, m)
			}
		}
		out = append(out, s)
	}
	return out
}

func isDirective(s ast.Statement) bool {
	e, ok := s.(*ast.ExpressionStatement)
	if !ok {
		return false
	}
	_, ok = e.Expression.(*ast.StringLiteral)
	return ok
}

// mark notes the place of a statement, and makes the call that tells it: of the function of marks, with
// the number of the mark and a function that gives the variables there.
func (p *Program) mark(s ast.Statement) ast.Statement {
	switch s.(type) {
	case *ast.FunctionDeclaration, *ast.EmptyStatement, *ast.BlockStatement:
		return nil
	}
	at := s.Idx0()
	place := p.file.Position(int(at) - p.file.Base())
	m := mark{line: place.Line - 1 - p.header, column: max(0, place.Column-1)}
	if m.line < 0 {
		return nil
	}
	_, m.isDebugger = s.(*ast.DebuggerStatement)
	m.scope = p.scopeAt(at)
	for m.function = m.scope; m.function != nil && m.function.kind != "local"; m.function = m.function.outer {
		m.guarded = m.guarded || m.function.guarded
	}
	if m.function == nil {
		return nil
	}
	p.marks = append(p.marks, m)
	number := &ast.NumberLiteral{Idx: at, Value: int64(len(p.marks) - 1)}
	return &ast.ExpressionStatement{Expression: call(nameMark, at, number, p.variables(&m, at))}
}

// maxTold bounds the names of all marks together: each takes some hundred bytes.
const maxTold = 100_000

// variables makes a function that gives an object of the variables that can be seen at a mark, by
// accessors, and this. It is no direct eval: goja compiles functions wrongly that have one
// anywhere inside and parameters with defaults or patterns, and switches with variables of their own.
func (p *Program) variables(m *mark, at file.Idx) ast.Expression {
	object := &ast.ObjectLiteral{LeftBrace: at, RightBrace: at}
	add := func(name unistring.String, kind ast.PropertyKind, value ast.Expression) {
		object.Value = append(object.Value, &ast.PropertyKeyed{
			Key: &ast.StringLiteral{Idx: at, Value: name}, Kind: kind, Value: value,
		})
	}
	add(nameThis, ast.PropertyKindValue, &ast.ThisExpression{Idx: at})
	seen := map[string]bool{"this": true, "arguments": true}
	for scope := m.scope; scope != nil; scope = scope.outer {
		if p.told += len(scope.names); p.told > maxTold {
			break
		}
		for _, name := range scope.names {
			if seen[name] {
				continue
			}
			seen[name] = true
			n := unistring.NewFromString(name)
			id, value := &ast.Identifier{Name: n, Idx: at}, &ast.Identifier{Name: nameValue, Idx: at}
			add(n, ast.PropertyKindGet, accessor(at, nil, &ast.ReturnStatement{Return: at, Argument: id}))
			add(n, ast.PropertyKindSet, accessor(at, value, &ast.ExpressionStatement{
				Expression: &ast.AssignExpression{Operator: token.ASSIGN, Left: id, Right: value},
			}))
		}
	}
	return &ast.ArrowFunctionLiteral{
		Start: at, ParameterList: &ast.ParameterList{Opening: at, Closing: at},
		Body: &ast.ExpressionBody{Expression: object},
	}
}

// accessor is a function of one statement.
func accessor(at file.Idx, parameter *ast.Identifier, s ast.Statement) ast.Expression {
	list := &ast.ParameterList{Opening: at, Closing: at}
	if parameter != nil {
		list.List = []*ast.Binding{{Target: parameter}}
	}
	return &ast.FunctionLiteral{
		Function: at, ParameterList: list,
		Body: &ast.BlockStatement{LeftBrace: at, List: []ast.Statement{s}, RightBrace: at},
	}
}

func call(name unistring.String, at file.Idx, args ...ast.Expression) ast.Expression {
	return &ast.CallExpression{
		Callee: &ast.Identifier{Name: name, Idx: at}, LeftParenthesis: at, ArgumentList: args, RightParenthesis: at,
	}
}

// watchBody has the exceptions told that leave a function. What goes into a block of its own must not
// bind a name that the function binds already, so such functions stay as they are.
func watchBody(b *ast.BlockStatement, names map[string]bool) {
	list := b.List
	first := 0
	for first < len(list) && isDirective(list[first]) {
		first++
	}
	rest := list[first:]
	for _, s := range rest {
		f, ok := s.(*ast.FunctionDeclaration)
		if ok && names[f.Function.Name.Name.String()] {
			return
		}
	}
	if len(rest) > 0 {
		b.List = append(slices.Clone(list[:first]), rethrowing(b, rest))
	}
}

// rethrowing tells what statements throw, and throws it on.
func rethrowing(of *ast.BlockStatement, list []ast.Statement) ast.Statement {
	at := of.LeftBrace
	thrown := &ast.Identifier{Name: nameThrown, Idx: at}
	return &ast.TryStatement{
		Try:  at,
		Body: &ast.BlockStatement{LeftBrace: at, List: list, RightBrace: of.RightBrace},
		Catch: &ast.CatchStatement{
			Catch: at, Parameter: thrown,
			Body: &ast.BlockStatement{LeftBrace: at, RightBrace: at, List: []ast.Statement{
				&ast.ExpressionStatement{Expression: call(nameCaught, at, thrown)},
				&ast.ThrowStatement{Throw: at, Argument: thrown},
			}},
		},
	}
}
