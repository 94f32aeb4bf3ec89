package replication

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func readObjects(r io.Reader, array bool) (objects []string, err error) {
	s := newObjectStream(r, 1<<16, nil)
	if array {
		if err := s.enter("results"); err != nil {
			return nil, err
		}
	}
	for {
		o, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return objects, err
		}
		objects = append(objects, string(o))
	}
	return objects, nil
}

func TestObjectStream(t *testing.T) {
	const feed = "{\"a\":[1,{\"x\":\"]\"}], \"n\":12,\"results\":[\n{\"seq\":\"1-x\",\"id\":\"a\\\"}\"},\r\n{\"b\":{\"c\":[{}]}}\n],\n\"last_seq\":\"2-y\",\"pending\":0}\n"
	for _, r := range []io.Reader{strings.NewReader(feed), iotest.OneByteReader(strings.NewReader(feed))} {
		objects, err := readObjects(r, true)
		if err != nil || len(objects) != 2 || objects[0] != `{"seq":"1-x","id":"a\"}"}` ||
			objects[1] != `{"b":{"c":[{}]}}` {
			t.Errorf("%q %v", objects, err)
		}
	}
	objects, err := readObjects(
		iotest.HalfReader(strings.NewReader("{\"a\":1}\n\n{\"b\":2}\n{\"last_seq\":3}\n\n")),
		false,
	)
	if err != nil || len(objects) != 3 {
		t.Errorf("%q %v", objects, err)
	}
	for _, bad := range []string{"", "[", "{", `{"results":[{"a":1`, `{"results":[{"a":1}`, `{"results":["a"]}`, `{"results":[{"a":"` + strings.Repeat("x", 1<<17), "<html>"} {
		if _, err := readObjects(strings.NewReader(bad), true); err == nil {
			t.Errorf("%.40q was taken", bad)
		}
	}
}

func FuzzObjectStream(f *testing.F) {
	f.Add([]byte(`{"results":[{"a":"b\\"},{}],"last_seq":1}`), true)
	f.Add([]byte("{\"a\":1}\n{}"), false)
	f.Fuzz(func(t *testing.T, text []byte, array bool) {
		one, errOne := readObjects(bytes.NewReader(text), array)
		two, errTwo := readObjects(iotest.OneByteReader(bytes.NewReader(text)), array)
		if strings.Join(one, "\n") != strings.Join(two, "\n") || (errOne == nil) != (errTwo == nil) {
			t.Fatalf("differs by the size of reads: %q %v, %q %v", one, errOne, two, errTwo)
		}
	})
}
