package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// words is an analyzer for tests: lower-case words, "the" is removed.
func words(_, text string, add func(term []byte, increment, start, end int)) {
	increment, at := 1, 0
	for at < len(text) {
		end := at
		for end < len(text) && (unicode.IsLetter(rune(text[end])) || unicode.IsDigit(rune(text[end]))) {
			end++
		}
		if end == at {
			at++
			continue
		}
		if word := strings.ToLower(text[at:end]); word == "the" {
			increment++
		} else {
			add([]byte(word), increment, at, end)
			increment = 1
		}
		at = end
	}
}

// oracle is documents in a list, and queries by looking at each.
type oracle struct {
	kind segment.Kind
	docs []*oracleDoc
}

type oracleDoc struct {
	*segment.Document
	identity segment.Identity
	killed   segment.Identity // "": alive
}

func (d *oracleDoc) field(name string) *segment.Field {
	for i := range d.Fields {
		if d.Fields[i].Name == name {
			return &d.Fields[i]
		}
	}
	return &segment.Field{}
}

func (d *oracleDoc) positions(field, term string) []int32 {
	f := d.field(field)
	for _, t := range f.Terms {
		if t.Term == term {
			if !f.Positions {
				return []int32{0}
			}
			return t.Positions
		}
	}
	return nil
}

// at is the oracle of a snapshot: the documents that there were, those that were killed before
// included.
func (o *oracle) at(identity segment.Identity) *oracle {
	at := &oracle{kind: o.kind}
	for _, d := range o.docs {
		if d.identity <= identity {
			c := *d
			if c.killed > identity {
				c.killed = ""
			}
			at.docs = append(at.docs, &c)
		}
	}
	return at
}

func (o *oracle) frequency(field, term string) (n int) {
	for _, d := range o.docs {
		if d.positions(field, term) != nil {
			n++
		}
	}
	return n
}

// distance is the number of edits, with exchanges of neighbours.
func distance(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			default:
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d[i][j] = min(d[i][j], d[i-2][j-2]+1)
				}
			}
		}
	}
	return d[len(a)][len(b)]
}

func (o *oracle) fuzzy(n *query.Fuzzy) map[string]float64 {
	type term struct {
		text string
		like float64
	}
	all := map[string]float64{}
	for _, d := range o.docs {
		for _, t := range d.field(n.Field).Terms {
			a, b := []rune(n.Text), []rune(t.Term)
			edits := distance(a, b)
			like := 1 - float64(edits)/float64(min(len(a), len(b)))
			if edits <= n.MaxEdits(len(a)) && (edits == 0 || like > 0) {
				all[t.Term] = like
				if edits == 0 {
					all[t.Term] = 1
				}
			}
		}
	}
	var list []term
	for t, like := range all {
		list = append(list, term{t, like})
	}
	slices.SortFunc(list, func(a, b term) int {
		if a.like != b.like {
			return int(math.Copysign(1, b.like-a.like))
		}
		return strings.Compare(a.text, b.text)
	})
	best := map[string]float64{}
	for _, t := range list[:min(len(list), 50)] {
		best[t.text] = t.like
	}
	return best
}

// phrases counts how often a document has a phrase; with slop only whether it does.
func (d *oracleDoc) phrases(n *query.Phrase) float64 {
	byPosition := map[int][]string{}
	for _, t := range n.Terms {
		if !slices.Contains(byPosition[t.Position], t.Term) {
			byPosition[t.Position] = append(byPosition[t.Position], t.Term)
		}
	}
	offsets := []int{}
	for p := range byPosition {
		offsets = append(offsets, p)
	}
	slices.Sort(offsets)
	count := 0.0
	var choose func(i int, low, high int, used map[string]bool)
	choose = func(i, low, high int, used map[string]bool) {
		if i > 0 && high-low > n.Slop {
			return
		}
		if i == len(offsets) {
			count++
			return
		}
		for _, term := range byPosition[offsets[i]] {
			for _, p := range d.positions(n.Field, term) {
				key := fmt.Sprint(term, p)
				if used[key] {
					continue
				}
				used[key] = true
				at := int(p) - offsets[i]
				if i == 0 {
					choose(1, at, at, used)
				} else {
					choose(i+1, min(low, at), max(high, at), used)
				}
				delete(used, key)
			}
		}
	}
	choose(0, 0, 0, map[string]bool{})
	return count
}

// holds reports whether a query holds for a document.
func (o *oracle) holds(n query.Node, d *oracleDoc) bool {
	anyWord := func(field string, ok func(string) bool) bool {
		return slices.ContainsFunc(d.field(field).Terms, func(t segment.Term) bool { return ok(t.Term) })
	}
	anyTerm := func(field string, ok func(string) bool) bool {
		return anyWord(field, ok) || o.kind == segment.Clouseau &&
			slices.ContainsFunc(d.field(field).Numbers, func(v float64) bool {
				return slices.ContainsFunc(oracleNumberTerms(v), ok)
			})
	}
	switch n := n.(type) {
	case *query.All:
		return true
	case *query.Boost:
		return o.holds(n.Node, d)
	case *query.Term:
		return d.positions(n.Field, n.Term) != nil
	case *query.Phrase:
		return d.phrases(n) > 0
	case *query.Prefix:
		return anyTerm(n.Field, func(t string) bool { return strings.HasPrefix(t, n.Text) })
	case *query.Wildcard:
		re := regexp.QuoteMeta(n.Pattern)
		re = strings.ReplaceAll(strings.ReplaceAll(re, `\*`, `.*`), `\?`, `.`)
		return anyTerm(n.Field, regexp.MustCompile("^(?s:"+re+")$").MatchString)
	case *query.Regexp:
		return anyTerm(n.Field, regexp.MustCompile("^(?s:"+n.Pattern+")$").MatchString)
	case *query.Fuzzy:
		near := o.fuzzy(n)
		return anyWord(n.Field, func(t string) bool { return near[t] > 0 })
	case *query.Range:
		in := func(t string) bool {
			return (n.LowerOpen || t > n.Lower || n.LowerInclude && t == n.Lower) &&
				(n.UpperOpen || t < n.Upper || n.UpperInclude && t == n.Upper)
		}
		return anyTerm(n.Field, in) || n.LowerOpen && n.UpperOpen && len(d.field(n.Field).Numbers) > 0
	case *query.NumRange:
		return slices.ContainsFunc(d.field(n.Field).Numbers, func(v float64) bool {
			return (v > n.Min || n.MinInclude && v == n.Min) && (v < n.Max || n.MaxInclude && v == n.Max)
		})
	case *query.Number:
		return slices.Contains(d.field(n.Field).Numbers, n.Value)
	case *query.Bool:
		should, required := 0, false
		for _, c := range n.Clauses {
			held := o.holds(c.Node, d)
			switch c.Occur {
			case query.Should:
				if held {
					should++
				}
			case query.MustNot:
				if held {
					return false
				}
			default:
				if required = true; !held {
					return false
				}
			}
		}
		least := n.Min
		if !required {
			least = max(least, 1)
		}
		return should >= least
	}
	panic(fmt.Sprintf("%T", n))
}

// scorer is the similarity in float64, without the rounding of norms' factors: the formulas as
// textbooks have them.
func (o *oracle) idf(docs int, field string) float64 {
	if o.kind == segment.Clouseau {
		return math.Log(float64(len(o.docs))/float64(docs+1)) + 1
	}
	n := 0
	for _, d := range o.docs {
		if len(d.field(field).Terms) > 0 {
			n++
		}
	}
	return math.Log(1 + (float64(n)-float64(docs)+0.5)/(float64(docs)+0.5))
}

func (o *oracle) termScore(d *oracleDoc, field string, freq, idf, boost, norm float64) float64 {
	f := d.field(field)
	if o.kind == segment.Clouseau {
		factor := 1.0
		if f.HasNorm {
			factor = float64(segment.NormFactor(f.Norm))
		}
		return math.Sqrt(freq) * idf * idf * boost * norm * factor
	}
	docs, length := 0, 0
	for _, d := range o.docs {
		if f := d.field(field); len(f.Terms) > 0 {
			docs++
			length += int(f.Length)
		}
	}
	own := 1.0
	if f.HasNorm {
		own = float64(segment.NormLength(f.Norm))
	}
	c := 1.2 * (0.25 + 0.75*own/(float64(length)/float64(docs)))
	return boost * idf * freq / (freq + c)
}

// squares is the sum of the squared weights of a query, for TF-IDF's query norm.
func (o *oracle) squares(n query.Node, boost float64) float64 {
	switch n := n.(type) {
	case *query.Boost:
		return o.squares(n.Node, boost*float64(n.Factor))
	case *query.Term:
		return math.Pow(boost*o.idf(o.frequency(n.Field, n.Term), n.Field), 2)
	case *query.Phrase:
		return math.Pow(boost*o.phraseIDF(n), 2)
	case *query.Number:
		return math.Pow(boost*o.idf(o.numbers(n), n.Field), 2)
	case *query.Fuzzy:
		sum := 0.0
		for t, like := range o.fuzzy(n) {
			sum += math.Pow(like*o.idf(o.frequency(n.Field, t), n.Field), 2)
		}
		return sum * boost * boost
	case *query.Bool:
		sum := 0.0
		for _, c := range n.Clauses {
			if c.Occur == query.Should || c.Occur == query.Must {
				sum += o.squares(c.Node, 1)
			}
		}
		return sum * boost * boost
	}
	return boost * boost
}

func (o *oracle) phraseIDF(n *query.Phrase) float64 {
	sum := 0.0
	for _, t := range n.Terms {
		sum += o.idf(o.frequency(n.Field, t.Term), n.Field)
	}
	return sum
}

func (o *oracle) numbers(n *query.Number) (count int) {
	for _, d := range o.docs {
		if o.holds(n, d) {
			count++
		}
	}
	return count
}

func (o *oracle) score(n query.Node, d *oracleDoc, boost, norm float64) float64 {
	if !o.holds(n, d) {
		return 0
	}
	switch n := n.(type) {
	case *query.Boost:
		return o.score(n.Node, d, boost*float64(n.Factor), norm)
	case *query.Term:
		freq := float64(len(d.positions(n.Field, n.Term)))
		return o.termScore(d, n.Field, freq, o.idf(o.frequency(n.Field, n.Term), n.Field), boost, norm)
	case *query.Phrase:
		return o.termScore(d, n.Field, d.phrases(n), o.phraseIDF(n), boost, norm)
	case *query.Number:
		if o.kind == segment.Nouveau {
			return boost
		}
		idf := o.idf(o.numbers(n), n.Field)
		return idf * idf * boost * norm
	case *query.Fuzzy:
		near, sum, most := o.fuzzy(n), 0.0, 0
		for t := range near {
			most = max(most, o.frequency(n.Field, t))
		}
		for t, like := range near {
			docs := most
			if o.kind == segment.Clouseau {
				docs = o.frequency(n.Field, t)
			}
			if freq := len(d.positions(n.Field, t)); freq > 0 {
				sum += o.termScore(d, n.Field, float64(freq), o.idf(docs, n.Field), boost*like, norm)
			}
		}
		return sum
	case *query.Bool:
		sum, held, all := 0.0, 0, 0
		for _, c := range n.Clauses {
			if c.Occur != query.Should && c.Occur != query.Must {
				continue
			}
			all++
			if o.holds(c.Node, d) {
				held++
				sum += o.score(c.Node, d, boost, norm)
			}
		}
		if o.kind == segment.Clouseau && !n.NoCoord && all > 1 {
			sum *= float64(held) / float64(all)
		}
		return sum
	}
	return boost * norm
}

// found are the live documents that a query holds for.
func (o *oracle) found(n query.Node) []*oracleDoc {
	var all []*oracleDoc
	for _, d := range o.docs {
		if d.killed == "" && o.holds(n, d) {
			all = append(all, d)
		}
	}
	return all
}

// generator makes random documents and queries.
type generator struct{ *rand.Rand }

var vocabulary = strings.Fields("a b c ab abc abd bcd cde deer bear beer the the 7 é")

func (g generator) word() string { return vocabulary[g.IntN(len(vocabulary))] }

func (g generator) text(most int) string {
	all := make([]string, g.IntN(most+1))
	for i := range all {
		all[i] = g.word()
	}
	return strings.Join(all, " ")
}

func (g generator) values() []segment.Value {
	var all []segment.Value
	for range 1 + g.IntN(2) {
		all = append(all, segment.Value{Name: "t", Text: g.text(12), Analyzed: true, Norms: true, Store: true})
	}
	if g.IntN(2) == 0 {
		all = append(all, segment.Value{Name: "u", Text: g.text(4), Analyzed: true, Norms: g.IntN(2) == 0})
	}
	for range g.IntN(3) {
		all = append(all, segment.Value{Name: "s", Text: g.word(), Facet: true, Store: true})
	}
	all = append(all, segment.Value{Name: "_partition", Text: g.word()})
	for range g.IntN(3) {
		all = append(all, segment.Value{Name: "n", Number: float64(g.IntN(8)) / 2, IsNumber: true, Store: true})
	}
	if g.IntN(3) > 0 {
		all = append(all, segment.Value{Name: "x", Number: g.Float64() * 10, IsNumber: true},
			segment.Value{Name: "y", Number: g.Float64() * 10, IsNumber: true})
	}
	return all
}

func (g generator) field() string { return []string{"t", "t", "t", "u", "s", "none"}[g.IntN(6)] }

// query is a random resolved query. exact ones have no phrases with slop, whose scores the oracle
// does not know.
func (g generator) query(depth int, exact bool) query.Node {
	kinds := 12
	if depth == 0 {
		kinds = 10
	}
	switch g.IntN(kinds) {
	case 0, 1, 2:
		return &query.Term{Field: g.field(), Term: g.word()}
	case 3:
		n := &query.Phrase{Field: []string{"t", "u"}[g.IntN(2)]}
		at := 0
		for range 2 + g.IntN(2) {
			n.Terms = append(n.Terms, query.PhraseTerm{Term: g.word(), Position: at})
			at += g.IntN(6) / 2
		}
		if n.Terms[len(n.Terms)-1].Position == 0 {
			n.Terms = append(n.Terms, query.PhraseTerm{Term: g.word(), Position: 1})
		}
		if !exact {
			n.Slop = g.IntN(4)
		}
		return n
	case 4:
		return &query.Prefix{Field: g.termField(), Text: []string{"a", "ab", "b", "", "z",
			g.end()}[g.IntN(6)]}
	case 5:
		return &query.Wildcard{Field: g.termField(), Pattern: []string{"a*d", "?b*", "*", "??", "d?er", "*r", "8*",
			"4???????"}[g.IntN(8)]}
	case 6:
		return &query.Regexp{Field: g.termField(), Pattern: []string{"a.*", "(b|d)e+r", "[a-c]{1,2}", "b?ear|7",
			".é?", "[ -8].*", ".{4,5}"}[g.IntN(7)]}
	case 7:
		return &query.Fuzzy{Field: g.field(), Text: []string{"bear", "deer", "abc", "ba", "x"}[g.IntN(5)],
			Edits: []float32{1, 2, 0.5}[g.IntN(3)]}
	case 8:
		return &query.Range{Field: g.termField(), Lower: g.end(), Upper: g.end(), LowerOpen: g.IntN(4) == 0,
			UpperOpen: g.IntN(4) == 0, LowerInclude: g.IntN(2) == 0, UpperInclude: g.IntN(2) == 0}
	case 9:
		if g.IntN(2) == 0 {
			return &query.Number{Field: "n", Value: float64(g.IntN(8)) / 2}
		}
		low := float64(g.IntN(8)) / 2
		return &query.NumRange{Field: "n", Min: low, Max: low + float64(g.IntN(3)), MinInclude: g.IntN(2) == 0,
			MaxInclude: g.IntN(2) == 0}
	case 10:
		return &query.Boost{Node: g.query(depth-1, exact), Factor: []float32{0.5, 2, 3}[g.IntN(3)]}
	}
	n := &query.Bool{NoCoord: g.IntN(4) == 0}
	for range g.IntN(5) {
		occur := []query.Occur{query.Should, query.Should, query.Must, query.MustNot, query.Filter}[g.IntN(5)]
		n.Clauses = append(n.Clauses, query.BoolClause{Occur: occur, Node: g.query(depth-1, exact)})
	}
	if g.IntN(3) == 0 {
		n.Min = g.IntN(3)
	}
	return n
}

// world is the same documents in an oracle, in one segment and in several.
type world struct {
	generator
	oracle oracle
	whole  *segment.RAM
	parts  []*segment.RAM
	last   int // identity
	maker  *segment.Maker
}

func newWorld(seed uint64, kind segment.Kind) *world {
	return &world{generator: generator{rand.New(rand.NewPCG(seed, 1))}, oracle: oracle{kind: kind},
		whole: segment.NewRAM(),
		parts: []*segment.RAM{segment.NewRAM()}, maker: segment.NewMaker(kind, words)}
}

// step adds, replaces or deletes a document, or begins a segment.
func (w *world) step() {
	w.last++
	identity := segment.Identity(fmt.Sprintf("%013d", w.last))
	if w.IntN(10) == 0 {
		w.parts = append(w.parts, segment.NewRAM())
	}
	id := fmt.Sprintf("doc%d", w.IntN(40))
	for _, d := range w.oracle.docs {
		if d.ID == id && d.killed == "" {
			d.killed = identity
			w.whole.Kill(identity, d.identity)
			for _, p := range w.parts {
				p.Kill(identity, d.identity)
			}
		}
	}
	if w.IntN(5) == 0 {
		return
	}
	d := w.maker.Document(id, w.values())
	record, err := segment.ReadRecord(segment.AppendRecord(nil, d))
	if err != nil {
		panic(err)
	}
	w.oracle.docs = append(w.oracle.docs, &oracleDoc{Document: d, identity: identity})
	w.whole.Add(identity, record)
	w.parts[len(w.parts)-1].Add(identity, record)
}

func (w *world) now() segment.Identity { return segment.Identity(fmt.Sprintf("%013d", w.last)) }

// index is the index at an identity, of one segment or of several.
func (w *world) index(at segment.Identity, several bool) *Index {
	x := &Index{Kind: w.oracle.kind}
	if !several {
		x.Segments = []segment.Segment{w.whole.View(at)}
		return x
	}
	for _, p := range w.parts {
		x.Segments = append(x.Segments, p.View(at))
	}
	return x
}

// forWorlds runs a test on random worlds of both kinds.
func forWorlds(t *testing.T, n int, test func(t *testing.T, w *world)) {
	if testing.Short() {
		n = max(n/5, 1)
	}
	for _, kind := range []segment.Kind{segment.Clouseau, segment.Nouveau} {
		for seed := range n {
			w := newWorld(uint64(seed), kind)
			for range 5 + w.IntN(80) {
				w.step()
			}
			test(t, w)
			if t.Failed() {
				t.Fatalf("kind %d, seed %d", kind, seed)
			}
		}
	}
}
