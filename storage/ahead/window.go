package ahead

const (
	// First is how many rows the first window has, whatever their size.
	First = 16
	// Most is how many rows of any size a later one may have.
	Most = 128
	// Bytes is how much a window should have at most.
	Bytes = 1 << 20
	// FirstWide is the width of the first window of a scan across a network, whose reader may stop at any row.
	FirstWide = 64
	// MostWide is that of later ones, and of all windows of documents that a request names.
	MostWide = 1024
)

// Window is the size of a list's next window; zero before Begin. It is for one goroutine.
type Window struct {
	Rows int // whatever their size
	Wide int // of rows that tell their sizes, if that is more; 0 where the engine is on this machine
}

// Begin is called with each snapshot, and with the width of the first window. After one that became too old windows are
// smaller again: they may have been what took so long.
func (w *Window) Begin(wide int) {
	if w.Rows == 0 {
		w.Rows, w.Wide = First, wide
		return
	}
	w.Rows, w.Wide = max(1, w.Rows/4), w.Wide/4
}

// Size is how many rows the next window has.
func (w *Window) Size() int { return max(w.Rows, w.Wide) }

// Took adapts the size to the bytes of a window.
func (w *Window) Took(bytes int) {
	switch {
	case bytes > Bytes:
		w.Rows = max(1, w.Rows/2)
	case bytes <= Bytes/2:
		w.Rows = min(2*w.Rows, Most)
	}
	w.Wide = min(4*w.Wide, MostWide)
}

// Reached makes windows as small as what could be read of one.
func (w *Window) Reached(rows, of int) {
	if rows < of {
		w.Rows, w.Wide = max(1, rows), min(w.Wide, rows)
	}
}

// Take lengthens a list of what was taken and is not done to as many as the next window has, as long as there are more.
func Take[T any](taken []T, next func() (T, bool), rows int) []T {
	for len(taken) < rows {
		one, ok := next()
		if !ok {
			break
		}
		taken = append(taken, one)
	}
	return taken
}
