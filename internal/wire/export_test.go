package wire

// Encoded returns the operation as a node sends it, EncodedText as a node sends it to a master that does not know the
// script.
func Encoded(o *Op) []byte     { return o.out }
func EncodedText(o *Op) []byte { return o.text() }

// ReadSet and ReadStatus read the replies of SET NX and INFO.
func ReadSet(reply any) Vote    { return readSet(reply) }
func ReadStatus(reply any) Vote { return readStatus(reply) }
