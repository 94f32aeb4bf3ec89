package js

// The commands of the protocol. Each has its caller's side and its worker's side in a file of its
// own.
const (
	commandCheck command = iota + 1
	commandMap
	commandReduce
	commandDesign
	commandFilter
	commandValidate
	commandList
	commandEvents
	commandCheckEvents
	commandCount = iota // of the commands above
)

func commandTable() map[command]handler {
	return map[command]handler{
		commandCheck:    runCheck,
		commandMap:      runMap,
		commandReduce:   runReduce,
		commandDesign:   runDesign,
		commandFilter:   runFilter,
		commandValidate: runValidate,
		commandList:     runList,

		commandEvents:      runEvents,
		commandCheckEvents: runCheckEvents,
	}
}
