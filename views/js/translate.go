package js

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// translate gives an error that goja made the text that CouchDB's engine has for it. Other values stay as they are.
func (s *sandbox) translate(v goja.Value) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return v
	}
	message, ok := o.Get("message").(goja.String)
	if !ok {
		return v
	}
	old := message.String()
	text := s.errorText(o, old)
	if text == old {
		return v
	}
	_ = o.Set("message", text)
	if kind := errorKind(text); kind != "" {
		if prototype, ok := s.vm.Get(kind).(*goja.Object); ok {
			_ = o.SetPrototype(prototype.Get("prototype").ToObject(s.vm))
		}
	}
	return v
}

// errorKind names the constructor of errors that goja makes of another kind.
func errorKind(text string) string {
	switch text {
	case "invalid array length":
		return "RangeError"
	}
	return ""
}

// errorText is the text for an error of goja's.
func (s *sandbox) errorText(o *goja.Object, text string) string {
	if plain, ok := plainTexts[text]; ok {
		return plain
	}
	for _, p := range patternTexts {
		if m := p.from.FindStringSubmatchIndex(text); m != nil {
			return string(p.from.ExpandString(nil, p.to, text, m))
		}
	}
	switch {
	case strings.HasPrefix(text, "Cannot read property '"), text == "Cannot convert undefined or null to object",
		text == "Value is not object coercible", strings.HasPrefix(text, "Cannot destructure"), strings.HasPrefix(text, "Cannot set property '"):
		return s.emptyText(o, text)
	case strings.HasPrefix(text, "Object has no member '"), strings.HasPrefix(text, "Value is not an object: "),
		strings.HasPrefix(text, "Not a function: "), strings.HasPrefix(text, "Value is not callable: "), text == "Value is not a constructor":
		return s.calleeText(o, text)
	case text == "object is not iterable":
		return s.iterableText(o, text)
	}
	return text
}

// emptyText is for a member of undefined or null.
func (s *sandbox) emptyText(o *goja.Object, text string) string {
	for _, n := range s.nodesOf(o) {
		switch n := n.(type) {
		case *ast.DotExpression:
			return s.emptyValueText(n.Left)
		case *ast.BracketExpression:
			return s.emptyValueText(n.Left)
		case *ast.ForOfStatement:
			return s.emptyValueText(n.Source)
		case *ast.SpreadElement:
			return s.emptyValueText(n.Expression)
		case *ast.Binding:
			if n.Initializer != nil {
				return s.emptyValueText(n.Initializer)
			}
			return "(destructured parameter) is undefined"
		case *ast.AssignExpression:
			return s.emptyValueText(n.Right)
		}
	}
	if text == "Value is not object coercible" || strings.HasPrefix(text, "Cannot convert undefined or null") {
		return "can't convert undefined to object"
	}
	return text
}

func (s *sandbox) emptyValueText(e ast.Expression) string {
	switch e := e.(type) {
	case *ast.NullLiteral:
		return "null has no properties"
	case *ast.Identifier:
		if e.Name == "undefined" {
			return "undefined has no properties"
		}
	}
	if s.isNull(e) {
		return expressionText(e) + " is null"
	}
	return expressionText(e) + " is undefined"
}

// calleeText is for calls of what is no function.
func (s *sandbox) calleeText(o *goja.Object, text string) string {
	for _, n := range s.nodesOf(o) {
		switch n := n.(type) {
		case *ast.CallExpression:
			return calleeName(n.Callee, text) + " is not a function"
		case *ast.NewExpression:
			return expressionText(n.Callee) + " is not a constructor"
		}
	}
	if _, value, ok := strings.Cut(text, ": "); ok {
		return value + " is not a function"
	}
	return text
}

func calleeName(e ast.Expression, text string) string {
	switch e.(type) {
	case *ast.ConditionalExpression, *ast.BinaryExpression:
		if _, value, ok := strings.Cut(text, ": "); ok {
			return value
		}
	}
	return expressionText(e)
}

func (s *sandbox) iterableText(o *goja.Object, text string) string {
	for _, n := range s.nodesOf(o) {
		switch n := n.(type) {
		case *ast.ForOfStatement:
			return expressionText(n.Source) + " is not iterable"
		case *ast.SpreadElement:
			return expressionText(n.Expression) + " is not iterable"
		case *ast.ArrayLiteral:
			for _, e := range n.Value {
				if spread, ok := e.(*ast.SpreadElement); ok {
					return expressionText(spread.Expression) + " is not iterable"
				}
			}
		case *ast.Binding:
			if n.Initializer != nil {
				return expressionText(n.Initializer) + " is not iterable"
			}
			return "(destructured parameter) is not iterable"
		case *ast.AssignExpression:
			return expressionText(n.Right) + " is not iterable"
		case *ast.NewExpression:
			if len(n.ArgumentList) > 0 {
				return expressionText(n.ArgumentList[0]) + " is not iterable"
			}
		case *ast.CallExpression:
			for _, e := range n.ArgumentList {
				if spread, ok := e.(*ast.SpreadElement); ok {
					return expressionText(spread.Expression) + " is not iterable"
				}
			}
			if len(n.ArgumentList) > 0 {
				return expressionText(n.ArgumentList[0]) + " is not iterable"
			}
		}
	}
	return text
}

// framePattern finds the source, line and column in a line of goja's stack.
var framePattern = regexp.MustCompile(`(u\d+):(\d+):(\d+)\(\d+\)`)

// frame is the innermost place of an error in a source.
func (s *sandbox) frame(o *goja.Object) (*compiled, place, bool) {
	stack := o.Get("stack")
	if stack == nil {
		return nil, place{}, false
	}
	for _, line := range strings.Split(stack.String(), "\n") {
		if !strings.HasPrefix(line, "\tat ") {
			continue
		}
		if m := framePattern.FindStringSubmatch(line); m != nil {
			row, _ := strconv.Atoi(m[2])
			column, _ := strconv.Atoi(m[3])
			c := s.sources[m[1]]
			return c, place{row, column}, c != nil
		}
	}
	return nil, place{}, false
}

func (s *sandbox) nodesOf(o *goja.Object) []ast.Node {
	c, at, ok := s.frame(o)
	if !ok {
		return nil
	}
	return c.nodesAt(at)
}

// nativeWhere is the line of the user's source in which an error was made.
func (s *sandbox) nativeWhere(c goja.FunctionCall) goja.Value {
	if o, ok := c.Argument(0).(*goja.Object); ok {
		if _, at, ok := s.frame(o); ok {
			return s.vm.ToValue(at.line)
		}
	}
	return s.vm.ToValue(1)
}

// plainTexts are errors that need no more than other words.
var plainTexts = map[string]string{
	"Assignment to constant variable.":                                               "invalid assignment to const",
	"Invalid array length":                                                           "invalid array length",
	"No initial value":                                                               "reduce of empty array with no initial value",
	"Reduce of empty array with no initial value":                                    "reduce of empty array with no initial value",
	"Malformed URI sequence":                                                         "malformed URI sequence",
	"URI malformed":                                                                  "malformed URI sequence",
	"Cannot convert a Symbol value to a string":                                      "can't convert symbol to string",
	"Cannot convert a Symbol value to a number":                                      "can't convert symbol to number",
	"Cannot mix BigInt and other types, use explicit conversions":                    "can't convert BigInt to number",
	"Cannot convert a BigInt value to a number":                                      "can't convert BigInt to number",
	"Do not know how to serialize a BigInt":                                          "BigInt value can't be serialized in JSON",
	"Converting circular structure to JSON":                                          "cyclic object value",
	"Invalid time value":                                                             "invalid date",
	"Class constructor cannot be invoked without 'new'":                              "class constructors must be invoked with 'new'",
	"Must call super constructor in derived class before accessing 'this'":           "must call super constructor before using 'this' in derived class constructor",
	"toString() radix argument must be between 2 and 36":                             "radix must be an integer at least 2 and no greater than 36",
	"The normalization form should be one of NFC, NFD, NFKC, NFKD":                   "form must be one of 'NFC', 'NFD', 'NFKC', or 'NFKD'",
	"RegExp doesn't have global flag set":                                            "matchAll must be called with a global RegExp",
	"String.prototype.replaceAll called with a non-global RegExp argument":           "replaceAll must be called with a global RegExp",
	"First argument to String.prototype.startsWith must not be a regular expression": "Invalid type: first can't be a Regular Expression",
	"First argument to String.prototype.endsWith must not be a regular expression":   "Invalid type: first can't be a Regular Expression",
	"First argument to String.prototype.includes must not be a regular expression":   "Invalid type: first can't be a Regular Expression",
	"The comparison function must be either a function or undefined":                 "invalid Array.prototype.sort argument",
	"Cannot access a variable before initialization":                                 "can't access lexical declaration before initialization",
}

// patternTexts are errors whose words carry a name or value.
var patternTexts = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`^Cannot assign to read only property '(\d+)'$`), `$1 is read-only`},
	{regexp.MustCompile(`^Cannot assign to read only property '(.*)'$`), `"$1" is read-only`},
	{regexp.MustCompile(`^Cannot add property (\d+), object is not extensible$`), `can't define array index property past the end of an array with non-writable length`},
	{regexp.MustCompile(`^Cannot (?:add|define) property (.*), object is not extensible$`), `can't define property "$1": Object is not extensible`},
	{regexp.MustCompile(`^Cannot delete property '(\d+)' of .*$`), `property $1 is non-configurable and can't be deleted`},
	{regexp.MustCompile(`^Cannot delete property '(.*)' of .*$`), `property "$1" is non-configurable and can't be deleted`},
	{regexp.MustCompile(`^Cannot redefine property: (.*)$`), `can't redefine non-configurable property "$1"`},
	{regexp.MustCompile(`^Object prototype may only be an Object or null: (.*)$`), `$1 is not an object or null`},
	{regexp.MustCompile(`^Invalid flags supplied to RegExp constructor '(?:[dgimsuy]*)([^dgimsuy]).*'$`), `invalid regular expression flag $1`},
	{regexp.MustCompile(`^Invalid code point (.*)$`), `$1 is not a valid code point`},
	{regexp.MustCompile(`^toFixed\(\) digits argument must be between 0 and 100$`), `precision out of range`},
}
