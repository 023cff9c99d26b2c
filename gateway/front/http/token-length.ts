/** The most characters of a token. */
export const longestToken = 512

/** The same where tokens of others than the house are taken. */
export const longestOutside = 8_192
