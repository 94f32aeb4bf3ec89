package js

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// whereMade tells where in the sources an error was made.
type whereMade struct {
	place
	*sandbox
	source *compiled // nil: nowhere in a source
	native bool      // inside a function of goja that was called there
}

// framePattern finds the source, line and column in a line of goja's stack.
var framePattern = regexp.MustCompile(`(u\d+):(\d+):(\d+)\(\d+\)`)

// whereMade finds the innermost place of an error in a source.
func (s *sandbox) whereMade(o *goja.Object) *whereMade {
	w := &whereMade{sandbox: s}
	stack := o.Get("stack")
	if stack == nil {
		return w
	}
	for line := range strings.SplitSeq(stack.String(), "\n") {
		if !strings.HasPrefix(line, "\tat ") {
			continue
		}
		if m := framePattern.FindStringSubmatch(line); m != nil {
			w.line, _ = strconv.Atoi(m[2])
			w.column, _ = strconv.Atoi(m[3])
			w.source = s.sources[m[1]]
			return w
		}
		w.native = true
	}
	return w
}

// nativeWhere is the line of the user's source in which an error was made.
func (s *sandbox) nativeWhere(c goja.FunctionCall) goja.Value {
	if o, ok := c.Argument(0).(*goja.Object); ok {
		if stack := o.Get("stack"); stack != nil {
			for _, m := range framePattern.FindAllStringSubmatch(stack.String(), -1) {
				if m[1] != prelude().name {
					line, _ := strconv.Atoi(m[2])
					return s.vm.ToValue(line)
				}
			}
		}
	}
	return s.vm.ToValue(1)
}

func (w *whereMade) nodes() []ast.Node {
	if w.source == nil {
		return nil
	}
	return w.source.nodesAt(w.place)
}

// memberText is for a member of undefined or null.
func (w *whereMade) memberText(text string) string {
	if w.source == nil {
		return text
	}
	if name, ok := between(text, "Cannot read property '", "' of undefined or null"); ok {
		if left := leftOf(w.source.calleeAfter(w.place, name)); left != nil {
			return w.emptyValueText(left)
		}
	}
	for _, n := range w.nodes() {
		switch n := n.(type) {
		case *ast.Identifier:
			// a.b++ and a.b += 1 are reported at the object.
			if strings.HasSuffix(text, "' of undefined") {
				return w.emptyValueText(w.memberedBy(n))
			}
		case *ast.DotExpression:
			// Assignments are reported at the object: a.b for a.b.c = 1.
			if !strings.HasPrefix(text, "Cannot read property '"+n.Identifier.Name.String()+"'") {
				return w.emptyValueText(n)
			}
			return w.emptyValueText(n.Left)
		case *ast.BracketExpression:
			return w.emptyValueText(n.Left)
		}
	}
	return text
}

// memberedBy is a of a[name]++, where name was evaluated last, else the expression itself.
func (w *whereMade) memberedBy(name *ast.Identifier) (object ast.Expression) {
	object = name
	walk(w.source.tree, func(n ast.Node) {
		if b, ok := n.(*ast.BracketExpression); ok && b.Member == ast.Expression(name) {
			object = b.Left
		}
	})
	return object
}

// isNull reports whether the value of an expression, known to be null or undefined, is null: goja's errors do not say.
// It looks into the document that the function was given, knows what the functions of regular expressions give, and
// what was last assigned to a variable in the text before.
func (w *whereMade) isNull(e ast.Expression) bool { return w.isNullAfter(e, 0) }

func (w *whereMade) isNullAfter(e ast.Expression, steps int) bool {
	switch e := e.(type) {
	case *ast.NullLiteral:
		return true
	case *ast.CallExpression:
		dot, ok := e.Callee.(*ast.DotExpression)
		if !ok {
			return false
		}
		name := dot.Identifier.Name
		return name == "match" || name == "exec" || name == "getPrototypeOf"
	case *ast.Identifier:
		if assigned := w.lastAssigned(e); assigned != nil && steps < 5 {
			return w.isNullAfter(assigned, steps+1)
		}
	}
	v := w.currentValue(e)
	return v != nil && goja.IsNull(v)
}

// lastAssigned is the expression that was assigned last to a variable in the text before the place, nil if there is
// none.
func (w *whereMade) lastAssigned(variable *ast.Identifier) (value ast.Expression) {
	if w.source == nil {
		return nil
	}
	last := place{}
	consider := func(target, e ast.Node) {
		id, ok := target.(*ast.Identifier)
		if !ok || id.Name != variable.Name || id.Idx <= 0 {
			return
		}
		if here := w.source.placeOf(id.Idx); !w.before(here) && !here.before(last) {
			value, _ = e.(ast.Expression)
			last = here
		}
	}
	walk(w.source.tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.AssignExpression:
			consider(n.Left, n.Right)
		case *ast.VariableStatement:
			for _, b := range n.List {
				consider(b.Target, b.Initializer)
			}
		case *ast.LexicalDeclaration:
			for _, b := range n.List {
				consider(b.Target, b.Initializer)
			}
		}
	})
	return value
}

func leftOf(e ast.Expression) ast.Expression {
	switch e := e.(type) {
	case *ast.DotExpression:
		return e.Left
	case *ast.BracketExpression:
		return e.Left
	}
	return nil
}

func (w *whereMade) emptyValueText(e ast.Expression) string {
	switch e := e.(type) {
	case nil:
		return "(destructured parameter) is undefined"
	case *ast.NullLiteral:
		return "null has no properties"
	case *ast.Identifier:
		if e.Name == "undefined" {
			return "undefined has no properties"
		}
	}
	if w.isNull(e) {
		return expressionText(e) + " is null"
	}
	return expressionText(e) + " is undefined"
}

// sourceText is for a value that cannot be iterated or taken apart: word makes the text of its expression, nil for a
// parameter. Inside a function of goja the text is as given.
func (w *whereMade) sourceText(text string, word func(ast.Expression) string) string {
	if w.source == nil {
		return text
	}
	for _, n := range w.nodes() {
		if e, ok := n.(*ast.NewExpression); ok && len(e.ArgumentList) > 0 {
			return word(e.ArgumentList[0])
		}
		if e, ok := n.(*ast.CallExpression); ok && w.native && len(e.ArgumentList) > 0 {
			if strings.HasPrefix(text, "object ") {
				return word(e.ArgumentList[0])
			}
			if w.isNull(e.ArgumentList[0]) {
				return strings.Replace(text, "undefined", "null", 1)
			}
		}
	}
	if w.native {
		return text
	}
	e, ok := w.source.sourceAfter(w.place)
	if e != nil && w.source.placeOf(reported(e)) == w.place {
		return word(e)
	}
	// What was evaluated last is the object of a member that is written, if it is no source itself.
	for _, n := range w.nodes() {
		if member, ok := n.(ast.Expression); ok && leftOf(member) != nil && strings.HasPrefix(text, "can't convert") {
			return w.emptyValueText(leftOf(member))
		}
	}
	switch {
	case !ok:
		return text
	case e != nil:
		return word(e)
	}
	_, rest, _ := strings.Cut(word(&ast.Identifier{Name: "x"}), " ")
	return "(destructured parameter) " + rest
}

// primitiveText is for an object without a value: one that was made without a prototype, or whose toString is no
// function. It names what was given to String() or Number().
func (w *whereMade) primitiveText() string {
	for _, n := range w.nodes() {
		e, ok := n.(*ast.CallExpression)
		if !ok || w.source == prelude() || len(e.ArgumentList) != 1 {
			continue
		}
		callee, _ := e.Callee.(*ast.Identifier)
		if callee != nil && (callee.Name == "String" || callee.Name == "Number") {
			kind := strings.ToLower(callee.Name.String())
			return "can't convert " + expressionText(e.ArgumentList[0]) + " to " + kind
		}
	}
	return "can't convert object to primitive type"
}

// calleeText is for calls of what is no function, and for operators that want an object.
func (w *whereMade) calleeText(text string) string {
	_, value, _ := strings.Cut(text, ": ")
	if w.native {
		return value + " is not a function"
	}
	for _, n := range w.nodes() {
		switch n := n.(type) {
		case *ast.CallExpression:
			return calleeName(n.Callee, value) + " is not a function"
		case *ast.NewExpression:
			return expressionText(n.Callee) + " is not a constructor"
		case *ast.BinaryExpression:
			switch n.Operator.String() {
			case "in":
				return w.noObjectText(n.Left, value)
			case "instanceof":
				return "invalid 'instanceof' operand " + expressionText(n.Right)
			}
		}
	}
	if value != "" {
		return value + " is not a function"
	}
	return text
}

// noObjectText is for a name looked for in a value that is no object.
func (w *whereMade) noObjectText(name ast.Expression, value string) string {
	kind := "string"
	switch {
	case value == "null", value == "undefined":
		kind = value
	case value == "true", value == "false":
		kind = "boolean"
	default:
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			kind = "number"
		}
	}
	if assigned, ok := name.(*ast.Identifier); ok {
		if e := w.lastAssigned(assigned); e != nil {
			name = e
		}
	}
	text := expressionText(name)
	switch e := name.(type) {
	case *ast.StringLiteral:
		text = shortText(e.Value.String())
	case *ast.NumberLiteral, *ast.NullLiteral, *ast.BooleanLiteral:
		text = ""
	default:
		if v, ok := w.currentValue(name).(goja.String); ok {
			text = shortText(v.String())
		}
	}
	if kind == "string" && text != "" {
		return "cannot use 'in' operator to search for " + text + " in " + shortText(value)
	}
	return "right-hand side of 'in' should be an object, got " + kind
}

// shortText is a string in quotes, of which no more than sixteen characters are shown.
func shortText(s string) string {
	if r := []rune(s); len(r) > 16 {
		s = string(r[:16]) + "..."
	}
	return strconv.Quote(s)
}

func calleeName(e ast.Expression, value string) string {
	switch e.(type) {
	case *ast.ConditionalExpression, *ast.BinaryExpression:
		return value
	}
	return expressionText(e)
}

// assignedName is the constant that was assigned to, in quotes after a blank; "" if it is not to be found.
func (w *whereMade) assignedName() string {
	if w.source == nil {
		return ""
	}
	best := ""
	first := place{}
	walk(w.source.tree, func(n ast.Node) {
		var id *ast.Identifier
		switch n := n.(type) {
		case *ast.AssignExpression:
			id, _ = n.Left.(*ast.Identifier)
		case *ast.UnaryExpression:
			id, _ = n.Operand.(*ast.Identifier)
		}
		if id == nil || id.Idx <= 0 {
			return
		}
		// The place is that of what was evaluated last: the right side, if it has one.
		if here := w.source.placeOf(id.Idx); !here.before(w.place) && (best == "" || here.before(first)) ||
			here.line == w.line && best == "" {
			best, first = " '"+id.Name.String()+"'", here
		}
	})
	return best
}

func (w *whereMade) readName() string {
	for _, n := range w.nodes() {
		if id, ok := n.(*ast.Identifier); ok {
			return " '" + id.Name.String() + "'"
		}
	}
	return ""
}

// assigns reports whether an assignment to the name is at the place.
func (w *whereMade) assigns(name string) bool {
	for _, n := range w.nodes() {
		if a, ok := n.(*ast.AssignExpression); ok {
			id, ok := a.Left.(*ast.Identifier)
			return ok && id.Name.String() == name
		}
	}
	return false
}

// sourceAfter gives the first expression at or after a place whose value is iterated or taken apart; nil for a
// parameter.
func (c *compiled) sourceAfter(at place) (source ast.Expression, ok bool) {
	first := place{}
	consider := func(e ast.Expression, idx file.Idx) {
		if idx <= 0 {
			return
		}
		here := c.placeOf(idx)
		if !here.before(at) && (!ok || here.before(first)) {
			source, first, ok = e, here, true
		}
	}
	walk(c.tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.ForOfStatement:
			consider(n.Source, reported(n.Source))
		case *ast.SpreadElement:
			consider(n.Expression, reported(n.Expression))
		case *ast.Binding:
			if _, ok := n.Target.(ast.Pattern); !ok {
				return
			}
			if n.Initializer != nil {
				consider(n.Initializer, reported(n.Initializer))
			} else {
				consider(nil, n.Target.Idx0())
			}
		case *ast.AssignExpression:
			if _, ok := n.Left.(ast.Pattern); ok {
				consider(n.Right, reported(n.Right))
			}
		}
	})
	return source, ok
}

// reported is where goja reports an expression.
func reported(e ast.Expression) file.Idx {
	switch e := e.(type) {
	case *ast.DotExpression:
		return e.Identifier.Idx
	case *ast.BracketExpression:
		return e.LeftBracket
	case *ast.CallExpression:
		return e.LeftParenthesis
	}
	return e.Idx0()
}

func (c *compiled) placeOf(idx file.Idx) place {
	p := c.tree.File.Position(int(idx) - 1)
	return place{p.Line, p.Column}
}
