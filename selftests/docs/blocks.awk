# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The blocks of a guide (Documentation/guides): lines indented by four spaces behind an empty
# line. The last thing before a block is its marker, a comment of one line.
#
#	awk -f blocks.awk GUIDE				"LINE MARKER" of each block
#	awk -v want="test: NAME" -f blocks.awk GUIDE	the lines of that block
#	awk -v want=... -v words=1 -f blocks.awk GUIDE	what stands behind NAME in its marker

function begins(text, what) {
	return text == what || index(text, what " ") == 1
}

# Names contain no blanks, so that of two no one begins with the other.
function begin_block() {
	inside = 1
	ours = want != "" && begins(marker, want)
	if (want == "")
		print FNR, marker == "" ? "none" : marker
	else if (ours && words)
		print substr(marker, length(want) + 2)
}

/^<!-- .* -->$/ {
	marker = substr($0, 6, length($0) - 9)
	inside = 0
	next
}

/^[ \t]*$/ {
	blank = 1
	empty++
	next
}

/^    / && (inside || blank) {
	if (!inside) {
		begin_block()
		empty = 0
	}
	if (ours && !words) {
		for (; empty > 0; empty--)
			print ""
		print substr($0, 5)
	}
	blank = empty = 0
	next
}

{
	inside = ours = blank = empty = 0
	marker = ""
}
