package mango

import (
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
)

// What a text index is asked is made of the selector in two steps: a tree of the fields that it
// asks for, which is CouchDB's and is what _explain prints (mango_selector_text:convert/2), and of
// that tree the query (textquery.go).

// defaultTextField is the field that has the strings of all fields.
const defaultTextField = "$default"

// element is the part of a path that stands for the elements of an array.
const element = "[]"

// textOp is the kind of a node of the tree.
type textOp uint8

const (
	textAnd      textOp = iota
	textOr              // any of the kids
	textNot             // the field kids[0] is there, and kids[1] does not hold
	textNoField         // the field kids[0] is not there
	textField           // the field has a value, see cmp
	textNull            // the field is null
	textHasField        // there is a field of this name and type, of any type or below it
	textRegex           // the field has a string
	textDefault         // $text
)

// textNode is a node of the tree.
type textNode struct {
	op   textOp
	kids []*textNode
	path []string    // parts of the name of a field; "[]" is any element
	typ  string      // of its values; "length" is that of the array. Of textHasField: "" for any
	text string      // CouchDB's query for it, after the colon
	cmp  selector.Op // of textField: opEq, opLt, …, opBeginsWith, opSize
	arg  ejson.Value
	// exact says that the node holds just for the documents that the condition holds for, where the
	// condition is one on values of the type: its negation can be asked for. Else it holds for
	// more.
	exact bool
	// nothing says that a list without kids holds for no document; others hold for all.
	nothing bool
	// optional is the length of an array in a comparison with one: an index without lengths leaves
	// it out.
	optional bool
}

// maxTextNodes bounds a tree: it doubles where a name of a field has a number in it, and a list of
// values takes two nodes for each of them.
const maxTextNodes = 50_000

var errTextTooLarge = compat.Named(compat.KindBadRequest, "invalid_selector",
	"The selector has too many conditions for a text index.")

// textTree is the tree of a selector; nil for the empty one.
func textTree(s *selector.Selector) (*textNode, error) {
	if s.Root == nil {
		return nil, nil
	}
	b := &textBuilder{left: maxTextNodes}
	tree, err := b.tree(nil, s.Root)
	if b.left < 0 {
		return nil, errTextTooLarge
	}
	return tree, err
}

// textBuilder makes a tree.
type textBuilder struct{ left int } // nodes that it may still make

// spent counts a node, and more for one of a long path; true: there are too many.
func (b *textBuilder) spent(path []string) bool {
	b.left -= 1 + len(path)/4
	return b.left < 0
}

func errTextOperator(op string) error {
	return compat.Named(compat.KindBadRequest, "invalid_operator", "Invalid text operator: "+op)
}

// tree converts a condition below a path; conditions on elements of an array go on below the part
// that stands for any.
func (b *textBuilder) tree(path []string, c *selector.Condition) (*textNode, error) {
	if b.spent(path) {
		return &textNode{}, errTextTooLarge
	}
	switch c.Op {
	case selector.OpField:
		return b.field(path, c)
	case selector.OpAnd, selector.OpOr:
		n := &textNode{op: textAnd}
		if c.Op == selector.OpOr {
			n.op = textOr
		}
		for _, kid := range c.Kids {
			k, err := b.tree(path, kid)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, k)
		}
		return n, nil
	case selector.OpNot:
		kid, err := b.tree(path, c.Kids[0])
		return notText(path, kid), err
	case selector.OpElemMatch, selector.OpAllMatch:
		return b.tree(below(path, element), c.Kids[0])
	case selector.OpNor, selector.OpKeyMapMatch:
		return fieldThere(path), nil // CouchDB refuses them
	case selector.OpDefault:
		text := c.Arg
		if c.Raw {
			text, _ = c.Arg.Get("$text")
		}
		if text.Kind() != ejson.String {
			return nil, errTextOperator("$text")
		}
		return &textNode{op: textDefault, text: valueText(text), arg: text}, nil
	}
	return b.operator(path, c), nil
}

// field goes on below a field. A number in its name may be that of an element.
func (b *textBuilder) field(path []string, c *selector.Condition) (*textNode, error) {
	if c.Name == "" {
		return b.tree(path, c.Kids[0])
	}
	if !c.Path.Valid {
		return nil, c.Path.Err()
	}
	literal, elements := path[:len(path):len(path)], path[:len(path):len(path)]
	for _, part := range c.Path.Parts {
		literal = append(literal, part)
		if isElementNumber(part) {
			part = element
		}
		elements = append(elements, part)
	}
	n, err := b.tree(literal, c.Kids[0])
	if err != nil || slices.Equal(literal, elements) {
		return n, err
	}
	inArray, err := b.tree(elements, c.Kids[0])
	return &textNode{op: textOr, kids: []*textNode{n, inArray}}, err
}

// isElementNumber: Erlang's list_to_integer/1 takes it.
func isElementNumber(part string) bool {
	part = strings.TrimPrefix(strings.TrimPrefix(part, "-"), "+")
	for i := range len(part) {
		if part[i] < '0' || part[i] > '9' {
			return false
		}
	}
	return part != ""
}

// operator converts a comparison. What a text index cannot tell becomes the question whether the
// field is there: the selector looks at what is found.
func (b *textBuilder) operator(path []string, c *selector.Condition) *textNode {
	switch kind := c.Arg.Kind(); c.Op {
	case selector.OpLt, selector.OpLte, selector.OpGt, selector.OpGte:
		if kind == ejson.Array || kind == ejson.Object || kind == ejson.Null {
			return fieldThere(path)
		}
		return textLeaf(path, c.Op, c.Arg)
	case selector.OpEq:
		return b.equalText(path, c.Arg)
	case selector.OpNe:
		return notText(path, b.equalText(path, c.Arg))
	case selector.OpIn:
		return b.anyText(path, c.Arg)
	case selector.OpNin:
		return notText(path, b.anyText(path, c.Arg))
	case selector.OpAll:
		return b.allText(path, c.Arg)
	case selector.OpExists:
		there := fieldThere(path)
		there.exact = isExact(path)
		if c.Exists {
			return there
		}
		return &textNode{op: textNoField, kids: []*textNode{there}}
	case selector.OpBeginsWith:
		return textLeaf(path, selector.OpBeginsWith, c.Arg)
	case selector.OpMod:
		return &textNode{op: textHasField, path: path, typ: "number"}
	case selector.OpRegex:
		return &textNode{op: textRegex, path: path, typ: "string"}
	case selector.OpSize:
		return textLength(path, c.Arg)
	}
	return fieldThere(path) // $type
}

func below(path []string, part string) []string { return append(path[:len(path):len(path)], part) }

// isExact reports whether a path names one value and not any element of an array.
func isExact(path []string) bool { return !slices.Contains(path, element) }

// fieldThere is a field that is there, whatever its type.
func fieldThere(path []string) *textNode { return &textNode{op: textHasField, path: path} }

func notText(path []string, n *textNode) *textNode {
	return &textNode{op: textNot, kids: []*textNode{fieldThere(path), n}}
}

// textLeaf compares the values of a field of the type of the argument.
func textLeaf(path []string, cmp selector.Op, arg ejson.Value) *textNode {
	n := &textNode{op: textField, path: path, typ: selector.TypeName(arg), cmp: cmp, arg: arg}
	value := valueText(arg)
	least, greatest := "*", "*"
	if n.typ != "number" {
		// CouchDB means the last character of all, and writes these letters.
		least, greatest = `""`, "u0x10FFFF"
	}
	switch cmp {
	case selector.OpEq:
		n.text, n.exact = value, isExact(path)
	case selector.OpLt:
		n.text = "[" + least + " TO " + value + "}"
	case selector.OpLte:
		n.text = "[" + least + " TO " + value + "]"
	case selector.OpGt:
		n.text = "{" + value + " TO " + greatest + "]"
	case selector.OpGte:
		n.text = "[" + value + " TO " + greatest + "]"
	case selector.OpBeginsWith:
		n.text = escapeText(arg.Text()) + "*"
	}
	return n
}

// textLength asks for an array of a length; path is that of the array.
func textLength(path []string, length ejson.Value) *textNode {
	return &textNode{op: textField, path: below(path, element), typ: "length", cmp: selector.OpSize, arg: length,
		text: valueText(length), exact: isExact(path)}
}

// equalText is a field that equals a value. An array has elements and a length, an object its
// members.
func (b *textBuilder) equalText(path []string, v ejson.Value) *textNode {
	if b.spent(path) {
		return &textNode{}
	}
	switch v.Kind() {
	case ejson.Null:
		return &textNode{op: textNull, path: path, typ: "null", text: "true", exact: isExact(path)}
	case ejson.Array:
		length, _ := ejson.Parse(strconv.AppendInt(nil, int64(v.Len()), 10))
		all := &textNode{op: textAnd, kids: []*textNode{textLength(path, length)}}
		all.kids[0].exact, all.kids[0].optional = false, true
		for e := range v.Elements() {
			all.kids = append(all.kids, b.equalText(below(path, element), e))
		}
		return all
	case ejson.Object:
		if v.Len() == 0 {
			return &textNode{op: textHasField, path: path, typ: typeEmptyObject, exact: isExact(path)}
		}
		all := &textNode{op: textAnd}
		for name, member := range v.Members() {
			all.kids = append(all.kids, b.equalText(below(path, name.Text()), member))
		}
		if len(all.kids) == 1 {
			all = all.kids[0]
		}
		all.inexact()
		return all
	}
	return textLeaf(path, selector.OpEq, v)
}

// inexact says that documents that pass have more than the node asks for.
func (n *textNode) inexact() {
	n.exact = false
	for _, kid := range n.kids {
		kid.inexact()
	}
}

// anyText is a field, or an element of it, that is one of a list (convert_in/2).
func (b *textBuilder) anyText(path []string, list ejson.Value) *textNode {
	any := &textNode{op: textOr, nothing: true, exact: true}
	elements := below(path, element)
	either := func(a, b *textNode) *textNode {
		return &textNode{op: textOr, kids: []*textNode{a, b}, exact: true}
	}
	for v := range list.Elements() {
		if v.Kind() != ejson.Object || v.Len() == 0 {
			one := either(b.equalText(path, v), b.equalText(elements, v))
			one.kids[1].exact = one.kids[0].exact // an element of the array is what is asked for
			any.kids = append(any.kids, one)
			continue
		}
		members := &textNode{op: textOr}
		for name, member := range v.Members() {
			members.kids = append(members.kids, either(
				b.equalText(below(path, name.Text()), member), b.equalText(below(elements, name.Text()), member)))
		}
		members.inexact()
		any.kids = append(any.kids, members)
	}
	return any
}

// allText is an array with all elements of a list, or the one array in it.
func (b *textBuilder) allText(path []string, list ejson.Value) *textNode {
	elements := below(path, element)
	children := list.Children()
	first, _ := children.Next()
	if list.Len() == 1 && first.Kind() == ejson.Array {
		return &textNode{op: textOr, kids: []*textNode{b.equalText(path, first), b.equalText(elements, first)}}
	}
	all := &textNode{op: textAnd, nothing: true}
	for v := range list.Elements() {
		all.kids = append(all.kids, b.equalText(elements, v))
	}
	return all
}

// indexable adds the fields that an index of chosen fields has to have
// (mango_idx_text:indexable_fields/1).
func (n *textNode) indexable(names []string) []string {
	add := func(name string) []string {
		if slices.Contains(names, name) {
			return names
		}
		return append(names, name)
	}
	switch n.op {
	case textOr:
		// Two fields of which one is the other's elements: the field itself is enough.
		if len(n.kids) == 2 && n.kids[0].op == textField && n.kids[1].op == textField &&
			slices.Contains(n.kids[1].path, element) {
			return n.kids[0].indexable(names)
		}
		fallthrough
	case textAnd, textNot:
		for _, kid := range n.kids {
			names = kid.indexable(names)
		}
	case textNoField:
		return nil // as in CouchDB, fields before it count no more
	case textField:
		if n.typ != "length" {
			return add(n.printedPath() + ":" + n.typ)
		}
	case textRegex:
		return add(n.printedPath() + ":string")
	case textDefault:
		return add(defaultTextField)
	}
	return names
}

// printedPath is the name of the field as selectors have it.
func (n *textNode) printedPath() string {
	parts := make([]string, 0, len(n.path))
	for _, part := range n.path {
		parts = append(parts, strings.ReplaceAll(part, ".", `\.`))
	}
	return strings.Join(parts, ".")
}

// query prints what CouchDB asks the search server (mango_selector_text:to_query/1); "" asks for
// nothing.
func (n *textNode) query() string {
	switch n.op {
	case textAnd, textOr:
		var parts []string
		for _, kid := range n.kids {
			if text := kid.query(); text != "" {
				parts = append(parts, text)
			}
		}
		if len(parts) == 0 {
			return ""
		}
		word := " AND "
		if n.op == textOr {
			word = " OR "
		}
		return "(" + strings.Join(parts, word) + ")"
	case textNot:
		there, not := n.kids[0].query(), n.kids[1].query()
		if not == "" {
			return "(" + there + ")"
		}
		return "(" + there + " AND NOT (" + not + "))"
	case textNoField:
		return "($fieldnames:/.*/  AND NOT (" + n.kids[0].query() + "))"
	case textHasField:
		name := textName(n.path, n.typ)
		if n.typ != "" {
			return "($fieldnames:" + name + ")"
		}
		return "(($fieldnames:" + name + "*) OR ($fieldnames:" + textPath(n.path) + ".*))"
	case textRegex:
		return "($fieldnames:" + textName(n.path, "string") + ")"
	case textDefault:
		return "(" + defaultTextField + ":" + n.text + ")"
	}
	return "(" + textName(n.path, n.typ) + ":" + n.text + ")"
}

// textPath is the path of a field as an index has it: parts, their bytes escaped
// (mango_util:lucene_escape_field/1).
func textPath(path []string) string {
	var b []byte
	for i, part := range path {
		if i > 0 {
			b = append(b, '.')
		}
		b = appendTextPart(b, part)
	}
	return string(b)
}

// textName is the name of a field of a type.
func textName(path []string, typ string) string { return textPath(path) + "_3a" + typ }

// appendTextPart escapes a part of a field's name, so that letters, digits and underscores remain:
// any other byte becomes an underscore and two hexadecimal digits.
func appendTextPart(dst []byte, part string) []byte {
	const digits = "0123456789abcdef"
	for i := range len(part) {
		switch c := part[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			dst = append(dst, c)
		default:
			dst = append(dst, '_', digits[c>>4], digits[c&15])
		}
	}
	return dst
}

// valueText is a value in a query (mango_selector_text:value_str/1).
func valueText(v ejson.Value) string {
	switch v.Kind() {
	case ejson.String:
		if text := v.Text(); looksNumeric(text) {
			return `"` + text + `"`
		}
		return `"` + escapeText(v.Text()) + `"`
	case ejson.Int:
		return string(v.Raw())
	case ejson.Double:
		f, _ := v.Float()
		return strconv.FormatFloat(f, 'e', 20, 64)
	case ejson.Bool:
		return string(v.Raw())
	}
	return "true"
}

// looksNumeric: CouchDB's pattern for numbers is not anchored, so anything with a digit in it
// passes.
func looksNumeric(text string) bool {
	return strings.ContainsAny(text, "0123456789") || strings.Contains(text, "NaN") ||
		strings.Contains(text, "Infinity")
}

// escapeText escapes what has a meaning in queries (mango_util:lucene_escape_qv/1).
func escapeText(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "&&"), strings.HasPrefix(text[i:], "||"):
			b.WriteString(`\` + text[i:i+2])
			i++
			continue
		case strings.IndexByte("+-(){}[]!^~*?:/\\\" \t\r\n", text[i]) >= 0:
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
