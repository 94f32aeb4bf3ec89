package n1ql

// maxWays bounds the ways that a plan shows.
const maxWays = 100

// Plan is how a statement has read documents: its ways in the order in which each was taken first. It
// is for one goroutine at a time; a nil one is not kept.
type Plan struct {
	Text string `json:"text"` // of the statement
	Ways []*Way `json:"plan"`
}

// Way is one way to the documents of one keyspace.
type Way struct {
	Keyspace string `json:"keyspace"` // as the statement names it
	// How is "ids", "index", "scan" of all documents, or "unindexed" for a join that has looked for an
	// index in vain.
	How       string `json:"way"`
	Index     string `json:"index,omitempty"`
	Times     int    `json:"times"`
	Documents int    `json:"documents"` // that it has given to the statement
}

// Took counts a way once more. Its caller counts the documents of the result, which is never nil.
func (p *Plan) Took(keyspace, how, index string) *Way {
	if p == nil {
		return new(Way)
	}
	for _, w := range p.Ways {
		if w.Keyspace == keyspace && w.How == how && w.Index == index {
			w.Times++
			return w
		}
	}
	w := &Way{Keyspace: keyspace, How: how, Index: index, Times: 1}
	if len(p.Ways) < maxWays {
		p.Ways = append(p.Ways, w)
	}
	return w
}
