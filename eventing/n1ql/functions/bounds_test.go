package functions

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// caller lets functions have so much memory at once.
type caller struct {
	most     int64
	patterns Patterns
}

var errNoRoom = errors.New("no room")

func (c *caller) Began() time.Time    { return time.Unix(0, 0) }
func (c *caller) Patterns() *Patterns { return &c.patterns }

func (c *caller) Room(bytes int64) error {
	if bytes > c.most {
		return errNoRoom
	}
	return nil
}

// TestFunctionsAskForMemory: what may be larger than the arguments is asked for, or refused, before it is
// made; with room enough it is made.
func TestFunctionsAskForMemory(t *testing.T) {
	deep := datum.Integer(1)
	for range 20_000 {
		deep = datum.Array([]datum.Value{deep})
	}
	long := datum.Text(strings.Repeat("ab,", 1<<12))
	for name, args := range map[string][]datum.Value{
		"OBJECT_PATHS":        {deep},
		"OBJECT_PAIRS_NESTED": {deep},
		"SUFFIXES":            {long},
		"MB_LPAD":             {long, datum.Integer(1 << 23)},
		"RPAD":                {long, datum.Integer(1 << 23)},
		"REPEAT":              {long, datum.Integer(1 << 10)},
		"REGEXP_MATCHES":      {long, datum.Text(".")},
		"REGEXP_SPLIT":        {long, datum.Text(",")},
		"REGEXP_REPLACE":      {long, datum.Text(""), datum.Text("x")},
		"SPLIT":               {long, datum.Text("")},
		"ARRAY_REPEAT":        {long, datum.Integer(1 << 20)},
		"ARRAY_RANGE":         {datum.Integer(0), datum.Integer(1 << 20)},
		"DATE_RANGE_MILLIS":   {datum.Integer(0), datum.Integer(1 << 20), datum.Text("millisecond")},
	} {
		_, err := Lookup(name).Call(&caller{most: 1 << 17}, args)
		if !errors.Is(err, errNoRoom) && !errors.Is(err, datum.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"REGEXP_MATCHES", "REGEXP_SPLIT"} {
		v, err := Lookup(name).Call(&caller{most: 1 << 30}, []datum.Value{long, datum.Text(",")})
		require.NoError(t, err, name)
		require.Equal(t, 1<<12, v.Length(), name)
	}
}
