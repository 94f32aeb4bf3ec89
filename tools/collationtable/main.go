package main

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// unicodeVersion is the version of Unicode that the file and the library of combining classes must
// both be of.
const unicodeVersion = "15.0.0"

// hanLead is the first byte of Han's weights; nothing else uses it or those up to the unassigned
// characters' lead byte.
const hanLead = 0x7e

type element struct {
	primary             uint32 // left aligned
	secondary, tertiary uint16 // left aligned; tertiary without case bits
}

type mapping struct {
	runes    []rune
	elements []element
}

type hanRange struct{ first, last rune }

type table struct {
	han       []hanRange // in order
	hanPlaces map[rune]int
	mappings  []mapping
	leads     [256]byte // by the first byte of a primary weight: compressible, lowTertiary
}

const (
	compressible = 1 << iota // weights share the byte, and their second bytes leave room for marks of compression
	lowTertiary              // there are tertiary weights below the common one
)

func main() {
	in := flag.String("in", "FractionalUCA.txt", "the root collation's data")
	out := flag.String("out", "root.bin", "where the table goes")
	flag.Parse()
	if err := run(*in, *out); err != nil {
		log.Fatal(err)
	}
}

// run packs CLDR's table of collation weights for compat/collate. It insists on the Unicode version
// of golang.org/x/text/unicode/norm: texts are normalised with one and weighed with the other.
func run(in, out string) error {
	if norm.Version != unicodeVersion {
		return fmt.Errorf("golang.org/x/text/unicode/norm is of Unicode %s, want %s", norm.Version, unicodeVersion)
	}
	t, err := parse(in)
	if err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(t.append(nil)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(out, packed.Bytes(), 0o644)
}

func parse(name string) (*table, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := &table{hanPlaces: make(map[rune]int)}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if err := t.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return t, lines.Err()
}

// line reads a line of FractionalUCA.txt: the version, ideographs in the order of radicals, the
// properties of lead bytes, or the weights of a sequence of characters. Other settings in brackets
// are not needed.
func (t *table) line(line string) error {
	switch {
	case strings.HasPrefix(line, "[UCA version = "):
		if version := strings.TrimSuffix(strings.TrimPrefix(line, "[UCA version = "), "]"); version != unicodeVersion {
			return fmt.Errorf("data of Unicode %s, want %s", version, unicodeVersion)
		}
	case strings.HasPrefix(line, "[radical "):
		return t.ideographs(line)
	case strings.HasPrefix(line, "[top_byte"):
		fields := strings.Fields(line)
		lead, err := strconv.ParseUint(fields[1], 16, 8)
		if slices.Contains(fields, "COMPRESS") {
			t.leads[lead] |= compressible
		}
		return err
	case line == "" || line[0] == '#' || line[0] == '[':
	default:
		return t.mapping(line)
	}
	return nil
}

// ideographs reads `[radical 1=⼀一:一𪛙丁-丆]`, the ideographs of a radical in order.
func (t *table) ideographs(line string) error {
	_, list, ok := strings.Cut(strings.TrimSuffix(line, "]"), ":")
	if !ok {
		return nil // the end of the list
	}
	chars := []rune(list)
	for i := 0; i < len(chars); i++ {
		first, last := chars[i], chars[i]
		if i+2 < len(chars) && chars[i+1] == '-' {
			last = chars[i+2]
			i += 2
		}
		t.han = append(t.han, hanRange{first, last})
		for r := first; r <= last; r++ {
			if _, twice := t.hanPlaces[r]; twice {
				return fmt.Errorf("%U has two places", r)
			}
			t.hanPlaces[r] = len(t.hanPlaces)
		}
	}
	return nil
}

// mapping reads `0061; [2A, 05, 05]`. Where the weights depend on the character before, `006C |
// 00B7; …`, that is written as a contraction of both characters, which comes to the same.
func (t *table) mapping(line string) error {
	left, right, ok := strings.Cut(line, ";")
	if !ok {
		return fmt.Errorf("no weights in %q", line)
	}
	right, _, _ = strings.Cut(right, "#")
	before, chars, hasBefore := strings.Cut(left, "|")
	if !hasBefore {
		before, chars = "", left
	}
	m := mapping{}
	for field := range strings.FieldsSeq(before + " " + chars) {
		r, err := strconv.ParseUint(field, 16, 32)
		if err != nil {
			return err
		}
		m.runes = append(m.runes, rune(r))
	}
	if hasBefore {
		i := slices.IndexFunc(t.mappings, func(o mapping) bool { return slices.Equal(o.runes, m.runes[:1]) })
		if i < 0 {
			// The character before is further down the file; its weights go in front when all are
			// known.
			m.elements = append(m.elements, element{primary: uint32(m.runes[0])})
		} else {
			m.elements = append(m.elements, t.mappings[i].elements...)
		}
	}
	for part := range strings.SplitSeq(strings.TrimSpace(right), "]") {
		part = strings.Trim(part, " \t[")
		if part == "" {
			continue
		}
		e, ignorable, err := t.element(strings.Split(part, ","))
		if err != nil {
			return err
		}
		if !ignorable {
			m.elements = append(m.elements, e)
		}
	}
	t.mappings = append(t.mappings, m)
	return nil
}

// element reads `2A, 05, 9C` or `U+4E00, 10`: the weights of an ideograph, with a tertiary or with
// both lower weights.
func (t *table) element(weights []string) (e element, ignorable bool, err error) {
	for i := range weights {
		weights[i] = strings.TrimSpace(weights[i])
	}
	if char, ok := strings.CutPrefix(weights[0], "U+"); ok {
		r, err := strconv.ParseUint(char, 16, 32)
		if err != nil {
			return e, false, err
		}
		for len(weights) < 3 {
			weights = slices.Insert(weights, 1, "05")
		}
		if e.primary, err = t.hanPrimary(rune(r)); err != nil {
			return e, false, err
		}
	} else if e.primary, err = weight(weights[0], 4); err != nil {
		return e, false, err
	}
	secondary, err := weight(weights[1], 2)
	if err != nil {
		return e, false, err
	}
	tertiary, err := weight(weights[2], 2)
	e.secondary, e.tertiary = uint16(secondary), uint16(tertiary)&0x3f3f
	return e, e == element{}, err
}

// weight reads bytes as a number of that many bytes, left aligned.
func weight(text string, size int) (uint32, error) {
	var w uint32
	n := 0
	for field := range strings.FieldsSeq(text) {
		b, err := strconv.ParseUint(field, 16, 8)
		if err != nil {
			return 0, err
		}
		w = w<<8 | uint32(b)
		n++
	}
	if n > size {
		return 0, fmt.Errorf("weight %q is longer than %d bytes", text, size)
	}
	return w << (8 * (size - n)), nil
}

// hanPrimary is the weight of an ideograph, as in package collate.
func (t *table) hanPrimary(r rune) (uint32, error) {
	place, ok := t.hanPlaces[r]
	if !ok {
		return 0, fmt.Errorf("%U is no ideograph", r)
	}
	return uint32((hanLead+place/254/254)<<24 | (2+place/254%254)<<16 | (2+place%254)<<8), nil
}

// check verifies what package collate relies on.
func (t *table) check() error {
	single := make(map[rune][]element)
	for _, m := range t.mappings {
		if len(m.runes) == 1 {
			single[m.runes[0]] = m.elements
		}
	}
	for i := range t.mappings {
		m := &t.mappings[i]
		if len(m.runes) > 3 || len(m.elements) > 31 {
			return fmt.Errorf("%U is too long", m.runes)
		}
		if len(m.elements) > 0 && m.elements[0].secondary == 0 && m.elements[0].primary != 0 {
			m.elements = slices.Concat(single[m.runes[0]], m.elements[1:])
		}
		for _, e := range m.elements {
			if err := e.check(t.leads[e.primary>>24]); err != nil {
				return fmt.Errorf("%U: %w", m.runes, err)
			}
			if e.tertiary < commonWeight {
				t.leads[e.primary>>24] |= lowTertiary
			}
		}
	}
	return nil
}

// commonWeight is the secondary and tertiary weight that most characters have.
const commonWeight = 0x500

func (e element) check(lead byte) error {
	second := e.secondary >> 8
	middle := e.primary >> 16 & 0xff
	switch {
	case e.primary != 0 && e.primary>>24 < 2, lead&compressible != 0 && (middle < 4 || middle > 0xfe):
		return fmt.Errorf("primary %x", e.primary)
	case e.primary != 0 && (second < 5 || second >= 0x80),
		e.primary == 0 && second != 0 && second < 0x80,
		second > 5 && second < 0x46:
		return fmt.Errorf("secondary %x", e.secondary)
	case e.tertiary < 0x200, e.primary == 0 && e.tertiary < commonWeight, e.tertiary&0xff == 1:
		return fmt.Errorf("tertiary %x", e.tertiary)
	}
	return nil
}

// append writes the table: single characters, contractions, ranges of ideographs in their order,
// combining classes, first bytes.
func (t *table) append(b []byte) []byte {
	var singles, contractions []mapping
	for _, m := range t.mappings {
		if len(m.runes) > 1 {
			contractions = append(contractions, m)
		} else if _, err := t.hanPrimary(m.runes[0]); err != nil {
			singles = append(singles, m)
		}
	}
	slices.SortFunc(singles, func(x, y mapping) int { return int(x.runes[0] - y.runes[0]) })
	w := writer{b: b}
	w.number(len(singles))
	for _, m := range singles {
		w.rune(m.runes[0])
		w.elements(m.elements)
	}
	w.number(len(contractions))
	for _, m := range contractions {
		w.number(len(m.runes))
		for _, r := range m.runes {
			w.number(int(r))
		}
		w.elements(m.elements)
	}
	w.number(len(t.han))
	last := rune(0)
	for _, h := range t.han {
		w.b = binary.AppendVarint(w.b, int64(h.first-last))
		w.number(int(h.last - h.first))
		last = h.last
	}
	w.classes()
	w.b = append(w.b, t.leads[:]...)
	return w.b
}

type writer struct {
	b       []byte
	last    rune
	primary uint32
}

func (w *writer) number(n int) { w.b = binary.AppendUvarint(w.b, uint64(n)) }

// rune writes a character as the difference to the one before.
func (w *writer) rune(r rune) {
	w.number(int(r - w.last))
	w.last = r
}

func (w *writer) elements(es []element) {
	w.number(len(es))
	for _, e := range es {
		w.b = binary.AppendVarint(w.b, int64(e.primary)-int64(w.primary))
		w.number(int(e.secondary))
		w.number(int(e.tertiary))
		w.primary = e.primary
	}
}

// classes writes the canonical combining classes of the first and last character of the
// decomposition, where the first one is not 0.
func (w *writer) classes() {
	var found []rune
	for r := range rune(0x110000) {
		if norm.NFD.PropertiesString(string(r)).LeadCCC() != 0 {
			found = append(found, r)
		}
	}
	w.last = 0
	w.number(len(found))
	for _, r := range found {
		p := norm.NFD.PropertiesString(string(r))
		w.rune(r)
		w.b = append(w.b, p.LeadCCC(), p.TrailCCC())
	}
}
