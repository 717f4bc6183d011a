// All states of the chat in the light and the dark theme.
// req: H9
import { playStates } from "./chat_states.mjs";

await playStates(["Default Light Modern", "Default Dark Modern"]);
