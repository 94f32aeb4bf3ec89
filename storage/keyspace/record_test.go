package keyspace

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// TestRecords: a record is read as it was written, also where an older version has written ranges
// behind it.
func TestRecords(t *testing.T) {
	created := time.UnixMicro(7).UTC()
	for _, rec := range []Record{
		{Prefix: 40, Created: created, Q: 2, N: 1, RevsLimit: 9, Partitioned: true, Tombstones: true},
		{Prefix: 40, Created: created, Incarnation: 3, AutoPurge: "30_days"},
		{Prefix: 1 << 40, Created: created, Tombstones: true, AutoPurge: strings.Repeat("0", MaxAutoPurge)},
		{Prefix: 40, Created: created, Incarnation: 3, History: "30d"},
		{Prefix: 40, Created: created, AutoPurge: "1_year", History: "off"},
		{Prefix: 40, Created: created, History: "off", Access: Access{On: true, Secret: [32]byte{1, 31: 2}}},
		{Prefix: 40, Created: created, Access: Access{On: true, ShareAny: true}},
	} {
		ranges := binary.AppendUvarint(append(rec.Encode(), 0), 1<<30)
		ranges[1] |= 2
		for _, b := range [][]byte{rec.Encode(), ranges} {
			if got, err := ParseRecord(b); err != nil || got != rec {
				t.Errorf("%+v is read as %+v, %v", rec, got, err)
			}
		}
		for n := range rec.Encode() {
			if _, err := ParseRecord(rec.Encode()[:n]); !errors.Is(err, kv.ErrCorrupt) {
				t.Errorf("%d bytes of %+v: %v", n, rec, err)
			}
		}
	}
	// A program that does not know Access knows no other format of records than 3.
	if b := (&Record{Access: Access{On: true}}).Encode(); b[0] == recordFormat {
		t.Error("a database with access for each document looks like another one")
	}
	long := Record{AutoPurge: strings.Repeat("0", MaxAutoPurge+1)}
	if _, err := ParseRecord(long.Encode()); !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("a life of %d bytes: %v", len(long.AutoPurge), err)
	}
}
