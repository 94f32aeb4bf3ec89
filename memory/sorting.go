package memory

// What queries keep to sort it is in memory until the last row is taken. A query never waits for
// it: with little room it keeps few rows and reads the documents more often, with next to none it
// is refused (ADR 0024).

// leastSorting is what there is on the smallest machine.
const leastSorting = 8 << 20

// NewSorting shares a sixteenth of the collector's limit among the queries that sort; memory <= 0:
// no bound.
func NewSorting(memory int64, gate *Gate) *Budget {
	return newMemoryBudget(memory, max(memory/16, leastSorting), gate)
}

// leastWrites is what there is for one large document, alone, on the smallest machine.
const leastWrites = 24 << 20

// NewWrites shares an eighth of the collector's limit among the transactions that index large
// documents; memory <= 0: no bound. Who waits for it holds a body, for which nobody in here waits.
func NewWrites(memory int64) *Budget {
	return newMemoryBudget(memory, max(memory/8, leastWrites), nil)
}

// NewHandlers shares total bytes among event functions.
func NewHandlers(total int64) *Budget { return newMemoryBudget(total, total, nil) }

// Grow makes the share at least n bytes, of which it has at most half of the budget, and does not
// wait: the error is ErrBusy where there is no room. Then shares whose clients have stalled are cut
// off, so that there may be room for the next query.
func (s *Share) Grow(n int64) error {
	b := s.Budget
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	more := n - s.Held
	if more <= 0 {
		return nil
	}
	if n > b.Total/2 {
		return ErrBusy
	}
	mine := b.allows(s, more)
	if mine && more <= b.Free {
		b.move(s, more)
		return nil
	}
	b.cutSlow(s, more, mine)
	return ErrBusy
}

// Waiting notes that the client of a share is waited for, and Sent that it is not any more: while
// it stalls, what the share holds may be needed by others.
func (s *Share) Waiting() {
	if s.Budget != nil && s.Held > 0 {
		s.Sending(0)
	}
}
