export { gatewayNowMs, hearGatewayTime } from '../../../front/http/page/gateway-time.ts'
