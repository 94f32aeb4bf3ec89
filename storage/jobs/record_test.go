package jobs

import (
	"bytes"
	"errors"
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// FuzzRecord: what parses is written as it was read; what does not is kv.ErrCorrupt.
func FuzzRecord(f *testing.F) {
	r := jobRecord{
		state:   Running,
		birth:   newToken(),
		run:     newToken(),
		request: 3,
		due:     -1,
		owner:   "o",
		data:    []byte("d"),
		err:     "e",
	}
	f.Add(r.append(nil))
	f.Add((&jobRecord{state: Pending}).append(nil))
	f.Add((&lease{run: newToken(), beat: 300, ran: 1 << 40, progress: []byte("{}")}).append(nil))
	f.Add([]byte{recordFormat})
	f.Fuzz(func(t *testing.T, src []byte) {
		if r, err := parseJobRecord(src); err == nil {
			again, err := parseJobRecord(r.append(nil))
			if err != nil || !bytes.Equal(again.append(nil), r.append(nil)) {
				t.Errorf("%x: %v", src, err)
			}
		} else if !errors.Is(err, kv.ErrCorrupt) {
			t.Error(err)
		}
		if l, err := parseLease(src); err == nil {
			again, err := parseLease(l.append(nil))
			if err != nil || !bytes.Equal(again.append(nil), l.append(nil)) {
				t.Errorf("%x: %v", src, err)
			}
		} else if !errors.Is(err, kv.ErrCorrupt) {
			t.Error(err)
		}
	})
}
