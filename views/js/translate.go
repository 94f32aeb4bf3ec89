package js

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// translate gives an error that goja made the text that CouchDB's engine has for it, and tells where it was made as
// that engine does. Other values stay as they are.
func (s *sandbox) translate(v goja.Value) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return v
	}
	if message, ok := o.Get("message").(goja.String); ok {
		s.translateMessage(o, message.String())
	}
	s.translateStack(o)
	return v
}

func (s *sandbox) translateMessage(o *goja.Object, old string) {
	text := s.errorText(o, old)
	if text == old {
		return
	}
	_ = o.Set("message", text)
	if kind := errorKind(text); kind != "" {
		if constructor, ok := s.vm.Get(kind).(*goja.Object); ok {
			if prototype, ok := constructor.Get("prototype").(*goja.Object); ok {
				_ = o.SetPrototype(prototype)
			}
		}
	}
}

// translateStack writes the stack of an error in SpiderMonkey's form, function@file:line:column, with the frames that
// are in sources of users; fileName, lineNumber and columnNumber are those of the first one.
func (s *sandbox) translateStack(o *goja.Object) {
	stack, ok := o.Get("stack").(goja.String)
	if !ok || !strings.Contains(stack.String(), "\n\tat ") {
		return
	}
	var b strings.Builder
	for line := range strings.SplitSeq(stack.String(), "\n") {
		m := framePattern.FindStringSubmatch(line)
		if m == nil || !strings.HasPrefix(line, "\tat ") || m[1] == prelude().name {
			continue
		}
		name, _, named := strings.Cut(strings.TrimPrefix(line, "\tat "), " (")
		if !named {
			name = ""
		}
		if b.Len() == 0 {
			row, _ := strconv.Atoi(m[2])
			column, _ := strconv.Atoi(m[3])
			hide(o, "fileName", s.vm.ToValue("<unknown>"))
			hide(o, "lineNumber", s.vm.ToValue(row))
			hide(o, "columnNumber", s.vm.ToValue(column))
		}
		b.WriteString(name + "@<unknown>:" + m[2] + ":" + m[3] + "\n")
	}
	hide(o, "stack", s.vm.ToValue(b.String()))
}

// hide sets a member that is not enumerated, unless the object is frozen.
func hide(o *goja.Object, name string, v goja.Value) {
	_ = o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// errorKind names the constructor of errors that goja makes of another kind.
func errorKind(text string) string {
	if text == "invalid array length" {
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
	at := s.whereMade(o)
	switch {
	case text == "" && at.native && o.Get("name").String() == "TypeError":
		return "0 is read-only" // an array function on a frozen array
	case strings.HasPrefix(text, "Cannot read property '"):
		return at.memberText(text)
	case text == "Cannot convert undefined or null to object", text == "Value is not object coercible":
		return at.sourceText("can't convert undefined to object", at.emptyValueText)
	case strings.HasPrefix(text, "Could not convert ") && strings.HasSuffix(text, " to primitive"):
		return at.primitiveText()
	case text == "object is not iterable":
		return at.sourceText(text, func(e ast.Expression) string { return expressionText(e) + " is not iterable" })
	case strings.HasPrefix(text, "Object has no member '"), strings.HasPrefix(text, "Value is not an object: "),
		strings.HasPrefix(text, "Not a function: "), strings.HasPrefix(text, "Value is not callable: "), text == "Value is not a constructor":
		return at.calleeText(text)
	case strings.HasPrefix(text, "Cannot convert ") && strings.HasSuffix(text, " to a BigInt"):
		if name := o.Get("name"); name != nil && name.String() == "RangeError" {
			value, _ := between(text, "Cannot convert ", " to a BigInt")
			return value + " can't be converted to BigInt because it isn't an integer"
		}
		return "invalid BigInt syntax"
	case text == "Assignment to constant variable.":
		return "invalid assignment to const" + at.assignedName()
	case text == "Cannot access a variable before initialization":
		return "can't access lexical declaration" + at.readName() + " before initialization"
	case strings.HasSuffix(text, " is not defined"):
		if name := strings.TrimSuffix(text, " is not defined"); at.assigns(name) {
			return "assignment to undeclared variable " + name
		}
	}
	return text
}

// plainTexts are errors that need no more than other words.
var plainTexts = map[string]string{
	"Invalid array length":                                        "invalid array length",
	"No initial value":                                            "reduce of empty array with no initial value",
	"Reduce of empty array with no initial value":                 "reduce of empty array with no initial value",
	"Malformed URI sequence":                                      "malformed URI sequence",
	"URI malformed":                                               "malformed URI sequence",
	"Cannot convert a Symbol value to a string":                   "can't convert symbol to string",
	"Cannot convert a Symbol value to a number":                   "can't convert symbol to number",
	"Cannot mix BigInt and other types, use explicit conversions": "can't convert BigInt to number",
	"Cannot convert a BigInt value to a number":                   "can't convert BigInt to number",
	"Do not know how to serialize a BigInt":                       "BigInt value can't be serialized in JSON",
	"Converting circular structure to JSON":                       "cyclic object value",
	"Super constructor is not a constructor":                      "super is not a constructor",
	"Must call super constructor in derived class before returning from derived constructor": "must call super constructor before using 'this' in derived class constructor",
	"prototype is not an object":                                                     "'prototype' property is not an object",
	"Object.defineProperty called on non-object":                                     "1 is not a non-null object",
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
}

// patternTexts are errors whose words carry a name or value.
var patternTexts = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`^Cannot assign to read only property '(\d+)'$`), `$1 is read-only`},
	{regexp.MustCompile(`^Cannot assign to read only property '(.*)'$`), `"$1" is read-only`},
	{
		regexp.MustCompile(`^Cannot add property (\d+), object is not extensible$`),
		`can't define array index property past the end of an array with non-writable length`,
	},
	{
		regexp.MustCompile(`^Cannot (?:add|define) property (.*), object is not extensible$`),
		`can't define property "$1": Object is not extensible`,
	},
	{
		regexp.MustCompile(`^Cannot delete property '(\d+)' of .*$`),
		`property $1 is non-configurable and can't be deleted`,
	},
	{
		regexp.MustCompile(`^Cannot delete property '(.*)' of .*$`),
		`property "$1" is non-configurable and can't be deleted`,
	},
	{regexp.MustCompile(`^Cannot redefine property: (.*)$`), `can't redefine non-configurable property "$1"`},
	{regexp.MustCompile(`^Object prototype may only be an Object or null: (.*)$`), `$1 is not an object or null`},
	{
		regexp.MustCompile(`^Invalid flags supplied to RegExp constructor '(?:[dgimsuy]*)([^dgimsuy]).*'$`),
		`invalid regular expression flag $1`,
	},
	{regexp.MustCompile(`^Invalid code point (.*)$`), `$1 is not a valid code point`},
	{
		regexp.MustCompile(`^Constructor (\w+) requires 'new'$`),
		`calling a builtin $1 constructor without new is forbidden`,
	},
	{regexp.MustCompile(`^Malformed URI.*$`), `malformed URI sequence`},
	{regexp.MustCompile(`^Invalid index -?\d+$`), `invalid or out-of-range index`},
	{regexp.MustCompile(`^(?:.*: )?Unterminated character class.*$`), `unterminated character class`},
	{regexp.MustCompile(`^(?:.*: )?Unterminated group.*$`), `unterminated parenthetical`},
	{regexp.MustCompile(`^(?:.*: )?Unmatched '\)'.*$`), `unmatched ) in regular expression`},
	{regexp.MustCompile(`^.*invalid character class range.*$`), `invalid range in character class`},
	{regexp.MustCompile(`^.*trailing backslash.*$`), `\ at end of pattern`},
	{
		regexp.MustCompile(`^.*(?:invalid nested repetition operator|missing argument to repetition operator).*$`),
		`nothing to repeat`,
	},
	{regexp.MustCompile(`^.*invalid repeat count.*$`), `numbers out of order in {} quantifier.`},
	{
		regexp.MustCompile(`^Property description must be an object: .*$`),
		`Property descriptor must be an object, got attributes`,
	},
	{
		regexp.MustCompile(`^Getter must be a function: .*$`),
		`property descriptor's get field is neither undefined nor a function`,
	},
	{
		regexp.MustCompile(`^Setter must be a function: .*$`),
		`property descriptor's set field is neither undefined nor a function`,
	},
}
