package ejson_test

import (
	"fmt"

	"github.com/settee-db/settee/compat/ejson"
)

// A text is parsed once; members are looked up in place, and printing keeps their order and the
// spelling of numbers.
func ExampleParse() {
	doc, err := ejson.Parse([]byte(`{ "name": "caf\u00e9", "price": 1.0, "tags": ["hot", "black"] }`))
	if err != nil {
		fmt.Println(err)
		return
	}
	name, _ := doc.Get("name")
	fmt.Println(name.Text())
	tags, _ := doc.Get("tags")
	for tag := range tags.Elements() {
		fmt.Println(tag.Text())
	}
	fmt.Printf("%s\n", doc.AppendJSON(nil))
	// Output:
	// café
	// hot
	// black
	// {"name":"café","price":1.0,"tags":["hot","black"]}
}

func ExampleValue_Members() {
	doc, err := ejson.Parse([]byte(`{"b":1,"a":[true,null]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for name, member := range doc.Members() {
		fmt.Printf("%s is %s\n", name.Text(), member.Raw())
	}
	// Output:
	// b is 1
	// a is [true,null]
}
