package js

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/js/script"
)

// framePattern finds the source, line and column in a line of goja's stack.
var framePattern = regexp.MustCompile(`(u\d+):(\d+):(\d+)\(\d+\)`)

// translate gives an error that goja made the text that programs expect for it (script.EngineText),
// and tells where it was made as CouchDB's engine does. Other values stay as they are.
func (s *sandbox) translate(v goja.Value) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return v
	}
	if message, ok := o.Get("message").(goja.String); ok {
		s.translateMessage(o, message.String())
	}
	s.translateStack(o)
	return v
}

func (s *sandbox) translateMessage(o *goja.Object, old string) {
	text, isRange := script.EngineText(old)
	if text == old {
		return
	}
	_ = o.Set("message", text)
	if !isRange {
		return
	}
	if constructor, ok := s.vm.Get("RangeError").(*goja.Object); ok { // goja makes a TypeError of it
		if prototype, ok := constructor.Get("prototype").(*goja.Object); ok {
			_ = o.SetPrototype(prototype)
		}
	}
}

// translateStack writes the stack of an error in SpiderMonkey's form, function@file:line:column,
// with the frames that are in sources of users; fileName, lineNumber and columnNumber are those of
// the first one.
func (s *sandbox) translateStack(o *goja.Object) {
	stack, ok := o.Get("stack").(goja.String)
	if !ok || !strings.Contains(stack.String(), "\n\tat ") {
		return
	}
	var b strings.Builder
	for line := range strings.SplitSeq(stack.String(), "\n") {
		m := framePattern.FindStringSubmatch(line)
		if m == nil || !strings.HasPrefix(line, "\tat ") || m[1] == prelude().Name {
			continue
		}
		name, _, named := strings.Cut(strings.TrimPrefix(line, "\tat "), " (")
		if !named {
			name = ""
		}
		if b.Len() == 0 {
			row, _ := strconv.Atoi(m[2])
			column, _ := strconv.Atoi(m[3])
			hide(o, "fileName", s.vm.ToValue("<unknown>"))
			hide(o, "lineNumber", s.vm.ToValue(row))
			hide(o, "columnNumber", s.vm.ToValue(column))
		}
		b.WriteString(name + "@<unknown>:" + m[2] + ":" + m[3] + "\n")
	}
	hide(o, "stack", s.vm.ToValue(b.String()))
}

// hide sets a member that is not enumerated, unless the object is frozen.
func hide(o *goja.Object, name string, v goja.Value) {
	_ = o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// nativeWhere is the line of the user's source in which an error was made.
func (s *sandbox) nativeWhere(c goja.FunctionCall) goja.Value {
	if o, ok := c.Argument(0).(*goja.Object); ok {
		if stack := o.Get("stack"); stack != nil {
			for _, m := range framePattern.FindAllStringSubmatch(stack.String(), -1) {
				if m[1] != prelude().Name {
					line, _ := strconv.Atoi(m[2])
					return s.vm.ToValue(line)
				}
			}
		}
	}
	return s.vm.ToValue(1)
}
