package redisproc_test

const orphansEnd = true
