package ejson

import (
	"bytes"
	"errors"
	"sync"
)

// Kind is the kind of a JSON value. Int and Double are told apart by the text: a number with a
// point or an exponent is a Double.
type Kind uint8

// The kinds. Invalid is that of the zero Value.
const (
	Invalid Kind = iota
	Null
	Bool
	Int
	Double
	String
	Array
	Object
)

// The errors of Parse.
var (
	ErrSyntax   = errors.New("ejson: malformed JSON")
	ErrTooLarge = errors.New("ejson: text of 4 GiB or more")
)

// node flags
const (
	flagCanonical = 1 << iota // the source bytes are what AppendJSON prints
	flagEscaped               // a string with a backslash
	flagRange                 // a double beyond the range
)

// node is one value on the tape; see the package's invariants.
type node struct {
	start, end uint32 // source bytes, quotes and brackets included
	span       uint32 // nodes of the subtree, this one included
	count      uint32 // number of members or elements
	kind       Kind
	flags      uint8
}

// frame is a container that is still open while parsing.
type frame struct {
	node  uint32
	dirty uint32 // Parser.dirty when it was opened
}

// Parser holds a tape and the memory to build it. The Values of a Parse are valid until the next
// Parse or Release of the same Parser, and as long as the source is not modified; they can be read
// by several goroutines. Parse itself is for one goroutine at a time. The zero Parser is ready for
// use.
type Parser struct {
	src   []byte
	nodes []node
	open  []frame
	// dirty counts what made the source differ from the canonical text so far; a container is
	// canonical if the count did not move between its brackets.
	dirty uint32
	// outOfRange tells that a node with flagRange was put on the tape. jiffy finds such numbers
	// only after it has dropped members of equal name, so a text is refused only if one is left in
	// the end.
	outOfRange bool
	keys       []keyRef
	slots      []uint32
}

// maxPooledNodes bounds the memory a pooled Parser keeps (20 bytes a node): a bulk write of some
// thousand documents.
const maxPooledNodes = 1 << 17

var parsers = sync.Pool{New: func() any { return new(Parser) }}

// AcquireParser takes a Parser from a pool; give it back with Release.
func AcquireParser() *Parser { return parsers.Get().(*Parser) }

// Release returns p to the pool. Neither p nor the Values of its last Parse may be used afterwards.
func (p *Parser) Release() {
	if cap(p.nodes) > maxPooledNodes || cap(p.open) > maxPooledNodes || cap(p.keys) > maxPooledNodes {
		return
	}
	p.src = nil
	parsers.Put(p)
}

// nodeSize is what a value takes on the tape, and a container while it is open, in bytes.
const nodeSize = 20 + 8

// maxNodes is the most values that a text can have: each begins the text or follows one of four
// signs.
func maxNodes(src []byte) int {
	return min(1+bytes.Count(src, comma)+bytes.Count(src, colon)+bytes.Count(src, bracket)+bytes.Count(src, brace),
		len(src))
}

var comma, colon, bracket, brace = []byte{','}, []byte{':'}, []byte{'['}, []byte{'{'}

// TapeSize is the most memory that a Parser takes for a text, in bytes: some tenth of it for usual
// documents, fourteen times as much for lists of digits. Asking costs little against parsing.
func TapeSize(src []byte) int64 { return nodeSize * int64(maxNodes(src)) }

// Parse is Parser.Parse with memory of its own, for values that live on.
func Parse(src []byte) (Value, error) {
	p := &Parser{}
	if len(src) <= largeText { // else the Parser counts
		p.nodes = make([]node, 0, len(src)/12+4)
	}
	return p.Parse(src)
}
