package redisimage

var (
	Files     = files
	Parse     = parseLdd
	WriteTree = writeTree
	BuildAs   = buildAs
	Current   = currentAs
)

const Recipe = recipe
