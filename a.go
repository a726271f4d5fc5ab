package m

// Add adds 😀 numbers.
func Add(a, b int) int { return a + b }

func use() int {
	/* 😀 */ return Add(1, 2) + Add(3, 4)
}
