package index

import (
	"github.com/settee-db/settee/search/segment"
	"math"
	"sync/atomic"
)

// Scores are Lucene's, in float32 and in its order of operations: BM25 of Lucene 9 in Nouveau's
// kind of index, and TF-IDF of Lucene 4 with its norms, query norm and coord in Clouseau's.
// Conversions around products keep compilers from fusing them with additions, which rounds
// differently on some machines.

// bm25K1 and bm25B are Lucene's defaults: how soon more occurrences count no more, and how much a
// long field counts against a document.
const (
	bm25K1 = float32(1.2)
	bm25B  = float32(0.75)
)

// idf of a term that docs documents have, of n.
func idf(k segment.Kind, docs, n int64) float32 {
	if k == segment.Nouveau {
		return float32(math.Log(1 + (float64(n)-float64(docs)+0.5)/(float64(docs)+0.5)))
	}
	return float32(math.Log(float64(n)/float64(docs+1)) + 1)
}

// termScorer scores documents by how often they have a term or a phrase, and by the length of the
// field.
type termScorer struct {
	kind segment.Kind
	// idf and boosts together, of TF-IDF with the query norm.
	weight float32
	norms  []byte
	read   *segment.NormReader // of blocks, in the place of norms
	// factors are the numbers that norms stand for: 1/(k1·…) for BM25, the norm itself for TF-IDF;
	// shared by the segments of a search.
	factors *[256]float32
	// The factor of a document of a field without norms.
	missing float32
}

// lastFactors are those that were asked for the last time: one query after the other asks for the
// same.
var lastFactors atomic.Pointer[averageFactors]

type averageFactors struct {
	average float32
	factors [256]float32
}

// bm25Factors are the inverse norms for an average length.
func bm25Factors(average float32) *[256]float32 {
	if last := lastFactors.Load(); last != nil && last.average == average {
		return &last.factors
	}
	f := &averageFactors{average: average}
	for i := range f.factors {
		f.factors[i] = bm25Factor(float32(segment.NormLength(byte(max(i, 1)))), average)
	}
	lastFactors.Store(f)
	return &f.factors
}

func bm25Factor(length, average float32) float32 {
	return 1 / float32(bm25K1*float32((1-bm25B)+float32(bm25B*length/average)))
}

// tfFactors are the norms of Clouseau's kind.
var tfFactors = func() *[256]float32 {
	f := &[256]float32{}
	for i := range f {
		f[i] = segment.NormFactor(byte(i))
	}
	f[0] = 1
	return f
}()

// factor is the share of a document's length in a score; documents without a norm have a common
// one.
func (s *termScorer) factor(doc int32) float32 {
	if s.read != nil {
		return s.factors[s.read.Norm(doc)]
	}
	if int(doc) < len(s.norms) {
		return s.factors[s.norms[doc]]
	}
	return s.missing
}

func (s *termScorer) score(freq float32, doc int32) float32 { return s.of(freq, s.factor(doc)) }

// of is the score for a frequency and a factor.
func (s *termScorer) of(freq, factor float32) float32 {
	if s.kind == segment.Nouveau {
		return s.weight - s.weight/(1+float32(freq*factor))
	}
	return float32(float32(math.Sqrt(float64(freq)))*s.weight) * factor
}

// coordFactors are held/all for each number of clauses that hold.
func coordFactors(all int) []float32 {
	f := make([]float32, all+1)
	for i := range f {
		f[i] = float32(i) / float32(all)
	}
	return f
}
