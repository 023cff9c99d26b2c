/** The most characters of a token. */
export const longestToken = 512

/** The same where tokens are taken that aren't ours. */
export const longestOutside = 8_192
