package collate_test

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// Values are sorted as the keys of a view are: by type first, strings by their letters rather than
// by their bytes.
func ExampleCompare() {
	list, err := ejson.Parse([]byte(`[{"a":1},"b",[1],"Z","a",10,2.5,true,null,"B"]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range slices.SortedFunc(list.Elements(), collate.Compare) {
		fmt.Printf("%s ", v.Raw())
	}
	// Output: null true 2.5 10 "a" "b" "B" "Z" [1] {"a":1}
}

// Keys for an ordered store compare byte by byte as the values do.
func ExampleAppendKey() {
	pair, err := ejson.Parse([]byte(`["a","B"]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var keys [][]byte
	for v := range pair.Elements() {
		keys = append(keys, collate.AppendKey(nil, v))
	}
	fmt.Println(bytes.Compare(keys[0], keys[1]))
	// Output: -1
}
