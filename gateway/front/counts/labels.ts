/** In metrics, the plan of strangers, and the route of paths without one. */
export const noPlan = 'none'
export const noRoute = 'none'

/** In metrics, the plan of all test keys: what they try out is in nobody's figures. */
export const testPlan = 'test'
