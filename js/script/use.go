package script

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// Use describes what a program does with a parameter of a function, as far as its syntax tree
// shows. Where all that happens to a document is that members are read and written by their names,
// and that it is written as a document, nobody can tell an object with these members from one with
// all of them: it need not be made whole. It is immutable.
type Use struct {
	// Complete: the value is used in a way that is not known to be one of the others.
	Complete bool
	// Mentioned: the parameter stands somewhere; nobody sees the value of one that does not.
	Mentioned bool
	// Written: the value is written as a document.
	Written bool

	names map[string]access // members that are read and written by these names
}

// Has reports whether a member of this name, in UTF-8, is read or written.
func (u *Use) Has(name []byte) bool {
	_, ok := u.names[string(name)]
	return ok
}

// access says how a member is accessed, as bits.
type access byte

const (
	reads   access = 1 << iota
	changes        // perhaps
	deletes
)

// Changes reports whether members are written, or may be.
func (u *Use) Changes() bool {
	for _, a := range u.names {
		if a != reads {
			return true
		}
	}
	return false
}

// Scope is the meaning of names that the code of an event function uses but does not declare.
type Scope struct {
	Databases []string // aliases of databases
	Others    []string // other names that the host gives, which may hide those
}

// useCheck finds the uses of parameters in a program.
type useCheck struct {
	scope     Scope
	functions map[string]*ast.FunctionLiteral // of the global scope
	// elsewhere counts where a name stands that is not certain to be a mere mention of what it
	// names: declarations among them. A name without them means everywhere what it means globally.
	elsewhere map[string]int
	off       bool // names may mean anything
}

// newUseCheck walks over the program once and counts where each name is used in a way that may
// declare it anew. `with` and `eval` can give any name another meaning, so they turn the check
// off: every document is then passed whole.
func newUseCheck(scope Scope, tree *ast.Program) *useCheck {
	c := &useCheck{scope: scope, functions: map[string]*ast.FunctionLiteral{}, elsewhere: map[string]int{}}
	for _, s := range tree.Body {
		if f, ok := s.(*ast.FunctionDeclaration); ok {
			c.functions[f.Function.Name.Name.String()] = f.Function
		}
	}
	walkPath(tree, func(node ast.Node, path []ast.Node) {
		switch n := node.(type) {
		case *ast.WithStatement:
			c.off = true
		case *ast.PropertyShort:
			c.elsewhere[n.Name.Name.String()]++
		case *ast.Identifier:
			name := n.Name.String()
			c.off = c.off || name == "eval"
			if !isMention(node, path) {
				c.elsewhere[name]++
			}
		}
	})
	return c
}

// isMention reports whether an identifier is certain to mean something that is declared elsewhere.
func isMention(node ast.Node, path []ast.Node) bool {
	switch p := path[len(path)-1].(type) {
	case *ast.DotExpression, *ast.BracketExpression, *ast.CallExpression, *ast.NewExpression, *ast.BinaryExpression,
		*ast.UnaryExpression:
		return true
	case *ast.AssignExpression:
		return p.Right == node
	}
	return false
}

// isAlias reports whether an expression is certain to be an alias of a database.
func (c *useCheck) isAlias(e ast.Expression) bool {
	id, ok := e.(*ast.Identifier)
	if !ok || c.elsewhere[id.Name.String()] > 0 || !c.isGlobal(id.Name.String()) {
		return false
	}
	return slices.Contains(c.scope.Databases, id.Name.String())
}

// isGlobal reports whether the name of an alias or a provided function is not that of another
// binding too.
func (c *useCheck) isGlobal(name string) bool {
	return !slices.Contains(c.scope.Others, name)
}

// operation gives the name of the operation that a call is certain to be, as in
// couchbase.upsert(…).
func (c *useCheck) operation(call *ast.CallExpression) string {
	const couchbase = "couchbase"
	callee, ok := call.Callee.(*ast.DotExpression)
	if !ok || c.elsewhere[couchbase] > 0 || !c.isGlobal(couchbase) {
		return ""
	}
	if id, ok := callee.Left.(*ast.Identifier); !ok || id.Name != couchbase {
		return ""
	}
	for _, e := range call.ArgumentList {
		if _, ok := e.(*ast.SpreadElement); ok {
			return ""
		}
	}
	return callee.Identifier.Name.String()
}

// HandlerUses tells the uses of the first two parameters of a function that a program declares
// globally; of one that it does not declare nothing is known. The tree is as it was parsed.
func HandlerUses(tree *ast.Program, scope Scope, name string) (uses [2]Use) {
	c := newUseCheck(scope, tree)
	for i := range uses {
		uses[i] = c.use(c.functions[name], i)
	}
	return uses
}

// use tells the uses of a parameter of a function, which may be nil.
func (c *useCheck) use(f *ast.FunctionLiteral, at int) (u Use) {
	if f == nil || c.off {
		return Use{Complete: true, Mentioned: true}
	}
	c.parameter(f, at, &u, map[parameterOf]bool{})
	for _, a := range u.names {
		// what is deleted and written again would change its place
		u.Complete = u.Complete || u.Written && a&deletes != 0 && a&changes != 0
	}
	// a function in its place would get the object
	u.Complete = u.Complete || u.names[hasOwn]&changes != 0
	return u
}

type parameterOf struct {
	f  *ast.FunctionLiteral
	at int
}

// parameter adds the uses of a parameter of a function.
func (c *useCheck) parameter(f *ast.FunctionLiteral, at int, u *Use, known map[parameterOf]bool) {
	if known[parameterOf{f, at}] {
		return
	}
	known[parameterOf{f, at}] = true
	var target *ast.Identifier
	if list := f.ParameterList.List; at < len(list) {
		var plain bool
		if target, plain = list[at].Target.(*ast.Identifier); !plain || list[at].Initializer != nil {
			u.Complete, u.Mentioned = true, true
			return
		}
	}
	if f.ParameterList.Rest != nil {
		u.Complete, u.Mentioned = true, true
	}
	walkPath(f, func(node ast.Node, path []ast.Node) {
		switch n := node.(type) {
		case *ast.PropertyShort:
			if target != nil && n.Name.Name == target.Name {
				u.Complete, u.Mentioned = true, true
			}
		case *ast.Identifier:
			switch {
			case n.Name == "arguments":
				u.Complete, u.Mentioned = true, true
			case target != nil && n != target && n.Name == target.Name && node != ast.Node(f.Name):
				u.Mentioned = true
				c.mention(n, path, u, known)
			}
		}
	})
}

// mention adds what is done with a parameter at one place.
func (c *useCheck) mention(id *ast.Identifier, path []ast.Node, u *Use, known map[parameterOf]bool) {
	var at ast.Node = id
	if _, ok := path[len(path)-1].(*ast.Optional); ok { // doc?.name
		at, path = path[len(path)-1], path[:len(path)-1]
	}
	last := len(path) - 1
	ok := false
	switch p := path[last].(type) {
	case *ast.DotExpression:
		ok = u.member(p.Identifier.Name.String(), p, path[:last])
	case *ast.BracketExpression:
		if name, isText := p.Member.(*ast.StringLiteral); isText && p.Left == at {
			ok = u.member(name.Value.String(), p, path[:last])
		}
	case *ast.AssignExpression: // alias[id] = doc
		_, alone := path[last-1].(*ast.ExpressionStatement)
		ok = p.Operator == token.ASSIGN && p.Right == at && alone && c.isDocument(p.Left)
		u.Written = u.Written || ok
	case *ast.CallExpression:
		ok = p.Callee != at && c.argument(p, at, u, known)
	case *ast.UnaryExpression:
		ok = p.Operator == token.TYPEOF || p.Operator == token.NOT
	case *ast.BinaryExpression:
		if name, isText := p.Left.(*ast.StringLiteral); isText && p.Operator == token.IN {
			ok = u.name(name.Value.String(), reads)
		} else {
			ok = isHarmless(p, at)
		}
	case *ast.Binding:
		if pattern, isPattern := p.Target.(*ast.ObjectPattern); isPattern && p.Initializer == at {
			ok = u.taken(pattern)
		}
	case *ast.IfStatement:
		ok = p.Test == at
	case *ast.ConditionalExpression:
		ok = p.Test == at
	}
	u.Complete = u.Complete || !ok
}

// isHarmless reports whether an operator shows no more of an object than that it is one.
func isHarmless(e *ast.BinaryExpression, at ast.Node) bool {
	switch e.Operator {
	case token.STRICT_EQUAL, token.STRICT_NOT_EQUAL:
		return true
	case token.EQUAL, token.NOT_EQUAL:
		_, left := e.Left.(*ast.NullLiteral)
		_, right := e.Right.(*ast.NullLiteral)
		return left || right
	case token.LOGICAL_AND:
		return e.Left == at // an object is true, so the value is that of the other side
	}
	return false
}

// isDocument reports whether an expression is a member of an alias.
func (c *useCheck) isDocument(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.BracketExpression:
		return c.isAlias(e.Left)
	case *ast.DotExpression:
		return c.isAlias(e.Left)
	}
	return false
}

// argument adds what a call does with a value, and reports whether that is known.
func (c *useCheck) argument(call *ast.CallExpression, at ast.Node, u *Use, known map[parameterOf]bool) bool {
	i := slices.IndexFunc(call.ArgumentList, func(e ast.Expression) bool { return e == at })
	if i < 0 {
		return false
	}
	switch op := c.operation(call); {
	case i == 1 && op != "": // event.js (place) looks at these
		return isOperation(op) && u.name("id", reads) && u.name("cas", reads) && u.name("expiry_date", reads)
	case i == 2 && (op == "insert" || op == "upsert" || op == "replace"):
		u.Written = true
		return true
	}
	callee, ok := call.Callee.(*ast.Identifier)
	if !ok {
		return false
	}
	name := callee.Name.String()
	f := c.functions[name]
	// declared once, by what is called here
	if f == nil || c.elsewhere[name] != 1 || slices.ContainsFunc(call.ArgumentList, isSpread) {
		return false
	}
	c.parameter(f, i, u, known)
	return true
}

func isSpread(e ast.Expression) bool {
	_, ok := e.(*ast.SpreadElement)
	return ok
}

// isOperation reports whether couchbase has an operation on documents of this name.
func isOperation(name string) bool {
	return slices.Contains([]string{
		"get", "insert", "upsert", "replace", "delete", "increment", "decrement", "touch", "mutateIn", "lookupIn",
	}, name)
}

// member adds what is done with a member: path are the nodes that the expression for it stands in.
func (u *Use) member(name string, expression ast.Node, path []ast.Node) bool {
	at := expression
	for len(path) > 0 {
		last := path[len(path)-1]
		if _, ok := last.(*ast.Optional); !ok {
			if _, ok := last.(*ast.OptionalChain); !ok {
				break
			}
		}
		at, path = last, path[:len(path)-1]
	}
	if len(path) == 0 {
		return false
	}
	switch p := path[len(path)-1].(type) {
	case *ast.CallExpression:
		if p.Callee == at { // a method gets the object as this
			return u.asked(name, p)
		}
		return u.name(name, reads)
	case *ast.TemplateLiteral:
		return p.Tag != at && u.name(name, reads)
	case *ast.UnaryExpression:
		switch p.Operator {
		case token.DELETE:
			return u.name(name, deletes)
		case token.INCREMENT, token.DECREMENT:
			return u.name(name, changes)
		}
		return u.name(name, reads)
	case *ast.AssignExpression:
		if p.Right == at {
			return u.name(name, reads)
		}
	case *ast.DotExpression, *ast.BracketExpression, *ast.BinaryExpression, *ast.IfStatement, *ast.ReturnStatement,
		*ast.ConditionalExpression, *ast.SwitchStatement, *ast.ExpressionStatement, *ast.ArrayLiteral, *ast.Binding:
		return u.name(name, reads)
	case *ast.PropertyKeyed:
		if _, ok := path[len(path)-2].(*ast.ObjectLiteral); ok {
			return u.name(name, reads)
		}
	}
	return u.name(name, changes)
}

// taken adds the members that a pattern takes out of an object: const {a, b: c} = doc.
func (u *Use) taken(pattern *ast.ObjectPattern) bool {
	for _, property := range pattern.Properties {
		switch property := property.(type) {
		case *ast.PropertyShort:
			if !u.name(property.Name.Name.String(), reads) {
				return false
			}
		case *ast.PropertyKeyed:
			key, ok := property.Key.(*ast.StringLiteral)
			if !ok || property.Computed || !u.name(key.Value.String(), reads) {
				return false
			}
		default:
			return false
		}
	}
	return pattern.Rest == nil
}

const hasOwn = "hasOwnProperty"

// asked adds the member that doc.hasOwnProperty("name") asks for. No other method is known.
func (u *Use) asked(method string, call *ast.CallExpression) bool {
	if method != hasOwn || len(call.ArgumentList) != 1 {
		return false
	}
	name, ok := call.ArgumentList[0].(*ast.StringLiteral)
	return ok && u.name(hasOwn, reads) && u.name(name.Value.String(), reads)
}

// maxNames bounds the names of one use.
const maxNames = 256

// name adds a name; false if members of this name are not like others: numbers come before all
// others, and two names change what an object is. (A half of a surrogate pair is U+FFFD here.)
func (u *Use) name(name string, a access) bool {
	if name == "__proto__" || name == "toJSON" || IsIndexLike(name) || strings.ContainsRune(name, '\uFFFD') {
		return false
	}
	if u.names == nil {
		u.names = map[string]access{}
	}
	u.names[name] |= a
	return len(u.names) <= maxNames
}

// IsIndexLike reports whether a name may be one of those that objects have before all others, as
// numbers are.
func IsIndexLike[T string | []byte](name T) bool {
	return len(name) > 0 && name[0] >= '0' && name[0] <= '9'
}

// Use is what a map function does with its document: the function that the program evaluates to
// with its first parameter. Most name some members and nothing else; these are given an object
// without the others, which no document of a design document with many views needs to be made whole
// for.
func (p *Program) Use() *Use {
	if p.use == nil {
		use := newUseCheck(Scope{}, p.tree).use(lastFunction(p.tree), 0)
		p.use = &use
	}
	return p.use
}

// lastFunction is the function that a program evaluates to; nil where that is less than certain.
func lastFunction(tree *ast.Program) *ast.FunctionLiteral {
	for i := len(tree.Body) - 1; i >= 0; i-- {
		switch s := tree.Body[i].(type) {
		case *ast.FunctionDeclaration, *ast.EmptyStatement: // have no value
		case *ast.ExpressionStatement:
			f, _ := s.Expression.(*ast.FunctionLiteral)
			return f
		default:
			return nil
		}
	}
	return nil
}
