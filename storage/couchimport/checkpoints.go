package couchimport

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/couchfile"
)

// maxMarks is how many states of a database checkpoints can lead to. Of more some are passed over:
// their checkpoints lead to the state before.
const maxMarks = 10_000

// mark is a state that the old database had: the documents whose sequence in each file is at most
// the one in upto. While it is imported nothing else comes, so that everything up to seq in the
// new database is what was there then.
type mark struct {
	upto []int64 // for each of work.leading
	seq  string  // of the new database, when it is there
}

// covers reports whether a state has all that another one has.
func covers(state, other []int64) bool {
	for i := range state {
		if state[i] < other[i] {
			return false
		}
	}
	return true
}

// vector gives what a sequence of the old database says of each leading file. What it does not
// say, or says of another file, is 0: the documents of that file come again. ok is false if it
// says nothing.
func (w *work) vector(seq string) (v []int64, ok bool) {
	shards, ok := couchfile.ParseSeq(seq)
	if !ok {
		return nil, false
	}
	v, ok = make([]int64, len(w.leading)), false
	for _, s := range shards {
		for i, f := range w.leading {
			if f.shard.Low == s.Low && f.shard.High == s.High && f.Gave(s) {
				// What a checkpoint knows beyond the file's header has not come over.
				v[i] = min(s.Seq, f.Info().UpdateSeq)
				ok = ok || s.Seq > 0
			}
		}
	}
	return v, ok
}

// findMarks reads the checkpoints of replications from this database and puts the states that they
// name in a row, in which each has all of the one before. A state that does not fit is passed over.
func (w *work) findMarks(files []*shardFile) error {
	byText := map[string][]int64{}
	for _, f := range files {
		err := f.Locals(func(l couchfile.Local) error {
			if v, err := ejson.Parse(l.Body); err == nil && w.isCheckpointFrom(l.Body) {
				for seq := range sequences(v) {
					if v, ok := w.vector(seq); ok && len(byText) < 100*maxMarks {
						byText[string(appendVector(nil, v))] = v
					}
				}
			}
			return nil
		}, func(*couchfile.Damage) error { return nil }) // locals tells of it
		if err != nil {
			return err
		}
	}
	var all [][]int64
	for _, v := range byText {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b []int64) int {
		return cmp.Or(cmp.Compare(total(a), total(b)), slices.Compare(a, b))
	})
	for _, v := range all {
		if n := len(w.marks); n == 0 || covers(v, w.marks[n-1].upto) {
			w.marks = append(w.marks, mark{upto: v})
		}
	}
	if n := len(w.marks); n > maxMarks {
		for i := range maxMarks {
			w.marks[i] = w.marks[(i+1)*n/maxMarks-1]
		}
		w.marks = w.marks[:maxMarks]
	}
	return nil
}

func total(v []int64) (sum int64) {
	for _, n := range v {
		sum += n
	}
	return sum
}

func appendVector(dst []byte, v []int64) []byte {
	for _, n := range v {
		dst = append(strconv.AppendInt(dst, n, 10), ',')
	}
	return dst
}

// toMarks imports the documents up to each mark, one mark after the other, by the trees of
// sequences, and notes where the new database is then.
func (w *work) toMarks() error {
	done := make([]int64, len(w.leading))
	for m := range w.marks {
		upto := w.marks[m].upto
		for i, f := range w.leading {
			before := w.report
			err := f.Changed(done[i], upto[i], func(r *couchfile.Revision) error { return w.revision(f, r) }, w.damaged,
				func(d *couchfile.Damage) error {
					f.after = broken
					return w.damaged(d)
				})
			if err != nil {
				return err
			}
			f.early.Revisions += w.report.Revisions - before.Revisions
			f.early.Attachments += w.report.Attachments - before.Attachments
			if f.after != broken {
				f.after = upto[i]
			}
		}
		done = upto
		seq, err := w.sink.Wait(w.ctx)
		if err != nil {
			return err
		}
		w.marks[m].seq = seq
	}
	return nil
}

// broken is shardFile.after of a file whose tree of sequences has a damage: all of its documents
// are looked for by the tree of ids once more. What is there already is not stored again.
const broken = -1

// translate gives a checkpoint with the sequences of the new database in the place of the old
// ones: each leads to the latest mark that it had seen all of, in the history to the beginning if
// there is none. ok is false if its own sequence has none, or is no sequence that can be
// translated.
func (w *work) translate(body []byte) (translated []byte, ok bool) {
	v, err := ejson.Parse(body)
	if err != nil || len(w.marks) == 0 {
		return nil, false
	}
	for _, name := range [...]string{"source_last_seq", "last_seq"} {
		if seq, has := v.Get(name); has && (seq.Kind() != ejson.String || w.newSeq(seq.Text()) == "") {
			return nil, false
		}
	}
	translated = body
	for seq := range sequences(v) {
		if _, own := w.vector(seq); own {
			// A sequence is base64: as JSON it is nothing but its text between quotes.
			to := cmp.Or(w.newSeq(seq), "0")
			translated = bytes.ReplaceAll(translated, ejson.AppendString(nil, seq), ejson.AppendString(nil, to))
		}
	}
	return translated, true
}

// newSeq is the sequence of the latest mark that an old sequence has seen all of, "" if there is
// none.
func (w *work) newSeq(old string) string {
	v, ok := w.vector(old)
	if !ok {
		return ""
	}
	if m := w.last(v); m != nil {
		return m.seq
	}
	return ""
}

// last is the latest mark that a state has all of, nil if there is none.
func (w *work) last(v []int64) *mark {
	after := sort.Search(len(w.marks), func(i int) bool { return !covers(v, w.marks[i].upto) })
	if after == 0 {
		return nil
	}
	return &w.marks[after-1]
}

// sequences gives the texts in the places of a checkpoint that have sequences.
func sequences(v ejson.Value) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		objects := []ejson.Value{v}
		if history, ok := v.Get("history"); ok && history.Kind() == ejson.Array {
			for entry := range history.Elements() {
				if entry.Kind() == ejson.Object {
					objects = append(objects, entry)
				}
			}
		}
		for _, object := range objects {
			for _, name := range [...]string{"source_last_seq", "last_seq", "recorded_seq", "end_last_seq", "start_last_seq"} {
				if seq, ok := object.Get(name); ok && seq.Kind() == ejson.String && !yield(seq.Text()) {
					return
				}
			}
		}
	}
}
